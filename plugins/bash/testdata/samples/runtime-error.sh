set -eu
echo before
: "${missing:?boom}"
