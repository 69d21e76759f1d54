. "$(dirname "$0")/src/lib.sh"

for argument; do say "$argument"; done
