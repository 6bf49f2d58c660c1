package repeat

import (
	"errors"
	"io"
	"reflect"
	"testing"
	"time"
)

// Fuzz registers fuzz tests, each of which is called with all its seeds, as "go test" does without
// -fuzz: those that the test adds, and those below testdata/fuzz.
func Fuzz(tests ...testing.InternalFuzzTarget) {
	for _, t := range tests {
		other(t.Name, func(skipped *bool) bool { return callSeeds(t, skipped) })
	}
}

// callSeeds calls a fuzz test with its seeds, and reports whether none failed. It sets skipped if
// the test skipped itself. It panics if package testing differs from those of Go 1.26 and 1.27:
// MainStart is for the go command alone, and its type changes with it. It calls MainStart by
// reflection, so that other types do not break the build.
func callSeeds(t testing.InternalFuzzTarget, skipped *bool) bool {
	f := t.Fn
	t.Fn = func(tf *testing.F) {
		defer func() { *skipped = tf.Skipped() }()
		f(tf)
	}
	start := reflect.ValueOf(testing.MainStart)
	given := []reflect.Value{
		reflect.ValueOf(deps{}), reflect.ValueOf([]testing.InternalTest(nil)), reflect.ValueOf([]testing.InternalBenchmark(nil)),
		reflect.ValueOf([]testing.InternalFuzzTarget{t}), reflect.ValueOf([]testing.InternalExample(nil)),
	}
	typ := start.Type()
	fits := typ.NumIn() == len(given) && !typ.IsVariadic()
	for i := 0; fits && i < len(given); i++ {
		fits = given[i].Type().AssignableTo(typ.In(i))
	}
	if !fits {
		panic("leakgate: this Go version's package testing takes fuzz tests in a way that leakgate does not know")
	}
	m := start.Call(given)[0].Interface().(*testing.M)
	return m.Run() == 0
}

// deps is what package testing requires from the go command's test main (go1.26
// testing/internal/testdeps/deps.go), as far as running seeds needs it.
type deps struct{}

func (deps) ImportPath() string                          { return "" }
func (deps) ModulePath() string                          { return "" }
func (deps) MatchString(string, string) (bool, error)    { return true, nil }
func (deps) SetPanicOnExit0(bool)                        {}
func (deps) StartCPUProfile(io.Writer) error             { return errUnsupported }
func (deps) StopCPUProfile()                             {}
func (deps) StartTestLog(io.Writer)                      {}
func (deps) StopTestLog() error                          { return nil }
func (deps) WriteProfileTo(string, io.Writer, int) error { return errUnsupported }
func (deps) RunFuzzWorker(func(entry) error) error       { return errUnsupported }
func (deps) ReadCorpus(dir string, types []reflect.Type) ([]entry, error) {
	return readCorpus(dir, types)
}

func (deps) CheckCorpus(values []any, types []reflect.Type) error { return checkSeed(values, types) }
func (deps) ResetCoverage()                                       {}
func (deps) SnapshotCoverage()                                    {}
func (deps) CoordinateFuzzing(time.Duration, int64, time.Duration, int64, int, []entry, []reflect.Type, string, string) error {
	return errUnsupported
}

func (deps) InitRuntimeCoverage() (mode string, tearDown func(string, string) (string, error), snapshot func() float64) {
	return "", nil, nil
}

// errUnsupported is the error of functions that running seeds does not need.
var errUnsupported = errors.New("leakgate runs seeds only")
