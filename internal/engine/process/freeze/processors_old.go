//go:build !go1.25

package freeze

// setDefaultProcessors does nothing: GOMAXPROCS is not automatic before Go 1.25.
func setDefaultProcessors() {}
