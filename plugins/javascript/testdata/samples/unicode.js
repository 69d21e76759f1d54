console.log("grüße 🏕");
