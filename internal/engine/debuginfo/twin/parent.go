package twin

// process is a running go test.
type process struct {
	exe  string
	args []string
	dir  string // where it runs: after -C
}
