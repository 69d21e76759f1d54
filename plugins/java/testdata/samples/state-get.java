System.out.println(answer);
