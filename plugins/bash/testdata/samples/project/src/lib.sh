say() { echo "lib: $1"; }
