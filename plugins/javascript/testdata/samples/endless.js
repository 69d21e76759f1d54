console.log("begun");
for (;;);
