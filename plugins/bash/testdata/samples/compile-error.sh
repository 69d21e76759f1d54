true

if )
