for (const argument of process.argv.slice(2) as string[]) console.log(argument);
