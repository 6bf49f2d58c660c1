package isolate

import (
	"strconv"
	"strings"
	"time"
)

// flags are the arguments of a test binary: those that are about all of its tests, and the rest.
type flags struct {
	run      string
	count    int
	timeout  time.Duration // 0: none
	failfast bool
	rest     []string
}

func parseFlags(args []string) flags {
	f := flags{count: 1}
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			f.rest = append(f.rest, args[i:]...) // arguments for the tests themselves
			break
		}
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "-test.run":
			f.run = value
		case "-test.count":
			if n, err := strconv.Atoi(value); err == nil {
				f.count = n
			}
		case "-test.timeout":
			if d, err := time.ParseDuration(value); err == nil {
				f.timeout = d
			}
		case "-test.failfast":
			f.failfast = value != "false"
			f.rest = append(f.rest, arg)
		default:
			f.rest = append(f.rest, arg)
		}
	}
	return f
}

// argsFor returns the arguments of a process for what a pattern selects, with the time that is
// left; 0 is no time limit.
func (f *flags) argsFor(pattern string, left time.Duration) []string {
	args := []string{"-test.run=" + pattern, "-test.count=1", "-test.timeout=" + left.String()}
	return append(args, f.rest...)
}

// listing returns the arguments of a process that lists all tests.
func (f *flags) listing() []string {
	args := []string{"-test.list=."}
	for _, arg := range f.rest {
		if !strings.HasPrefix(arg, "-test.v") {
			args = append(args, arg)
		}
	}
	return args
}
