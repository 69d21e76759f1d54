package confine

// For tests in package confine_test, which import parts that import this package.

func LandlockVersion() (int, error) { return landlockVersion() }

func RestrictFiles() error { return restrictFiles() }
