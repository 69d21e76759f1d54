package confine

// For tests in package confine_test, which import parts that import this package.
var (
	LandlockVersion = landlockVersion
	RestrictFiles   = restrictFiles
)
