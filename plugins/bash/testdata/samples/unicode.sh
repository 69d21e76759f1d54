echo "grüße 🏕"
