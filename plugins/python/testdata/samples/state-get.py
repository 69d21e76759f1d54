print(answer)
