for (const argument of process.argv.slice(2)) console.log(argument);
