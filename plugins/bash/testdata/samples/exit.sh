echo before
exit 7
