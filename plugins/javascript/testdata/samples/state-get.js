console.log(answer);
