console.log("grüße 🏕" as string);
