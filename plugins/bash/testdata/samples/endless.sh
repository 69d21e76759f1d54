echo begun
while :; do :; done
