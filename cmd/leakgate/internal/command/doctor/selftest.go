package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/doctor/program"
)

// A Way is how the test is built and run.
type Way string

// The ways.
const (
	Plain   Way = "go test"              // linked as go test does, with the system's best way of snapshots
	Forked  Way = "go test -c, forked"   // with debug information of its own, as in leakgate run
	InPlace Way = "go test -c, in place" // also with debug information of its own
)

// freeze is the way's value of LEAKGATE_FREEZE.
func (w Way) freeze() string {
	if w == InPlace {
		return "inplace"
	}
	return "fork"
}

// A Trial is one run of the test.
type Trial struct {
	Way     Way             `json:"way"`
	State   State           `json:"state"`
	Took    time.Duration   `json:"took_ns"` // with building
	Result  *program.Result `json:"result,omitempty"`
	Problem string          `json:"problem,omitempty"` // why there is no result
}

// A State is the result of a trial.
type State string

// The states.
const (
	Right   State = "right"   // all verdicts are what they have to be
	Unknown State = "unknown" // some could not be told, the others are right
	Wrong   State = "wrong"   // at least one is not what it has to be
	Failed  State = "failed"  // the test did not build, or did not end
)

func (t *Trial) state() State {
	switch {
	case t.Result == nil:
		return Failed
	case len(t.Result.Wrong) > 0:
		return Wrong
	case len(t.Result.Unknown) > 0:
		return Unknown
	}
	return Right
}

// tryWays tries each way, with a toolchain such as "go1.26.8", and calls ended after each. A trial
// takes some seconds and ends after timeout. It writes to the go command's and to leakgate's cache;
// the rest is in a temporary folder, which is removed. The error is that of preparing the test, or
// of the context.
func tryWays(ctx context.Context, toolchain string, env []string, timeout time.Duration, ended func(*Trial)) (err error) {
	l, err := newLaboratory(toolchain, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for _, way := range []Way{Plain, Forked, InPlace} {
		limited, cancel := context.WithTimeout(ctx, timeout)
		t := l.try(limited, way)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.State = t.state()
		ended(t)
	}
	return nil
}
