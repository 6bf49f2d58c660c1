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
	Late    State = "late"    // the time was over before
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

// tryWays tries each way, with a toolchain such as "go1.26.8", and calls began before each and
// ended after it. A trial takes some seconds; all take no longer than timeout. It writes to the go
// command's and to leakgate's cache; the rest is in a temporary folder, which is removed. The error
// is that of preparing the test, or of the context.
func tryWays(ctx context.Context, toolchain string, env []string, timeout time.Duration, began func(Way), ended func(*Trial)) (err error) {
	limited, cancel := context.WithTimeout(ctx, timeout-timeout/6) // ending a process takes time
	defer cancel()
	l, err := newLaboratory(toolchain, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for _, way := range []Way{Plain, Forked, InPlace} {
		began(way)
		t := &Trial{Way: way, Problem: "not tried: the time was over (-timeout)"}
		if limited.Err() == nil {
			t = l.try(limited, way)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if t.State = t.state(); t.State == Failed && limited.Err() != nil {
			t.State = Late
		}
		ended(t)
	}
	return nil
}
