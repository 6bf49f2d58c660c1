package environ

import "runtime"

// A Site is a place in a test's source.
type Site struct {
	File string
	Line int
}

func CallSite(skip int) Site {
	_, file, line, _ := runtime.Caller(skip + 1)
	return Site{file, line}
}
