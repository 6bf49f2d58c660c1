package snapshot

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/process/inplace"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/envvar"
)

// Frozen is the frozen state of this process: a forked process that stands still (package freeze),
// or a copy (package inplace).
type Frozen interface {
	image.Source
	// Caller and CallerG return the state of the goroutine that froze the process.
	Caller() (pc, sp uintptr)
	CallerG() uintptr
	Pause() time.Duration  // for how long no Go code ran
	Frozen() time.Duration // the time of the freeze, by realtime.Clock
	Close() error
}

// The values of LEAKGATE_FREEZE.
const (
	byFork  = "fork"
	inPlace = "inplace"
)

// requestedMethod is the way that the environment asks for, "" for the best one.
func requestedMethod() (string, error) {
	value, name := envvar.Freeze.Lookup()
	switch value {
	case byFork:
		if freeze.Supported {
			return value, nil
		}
		return "", &Unavailable{
			Cause:  fmt.Sprintf("%s is %q, and processes cannot be forked on %s", name, value, runtime.GOOS),
			Remedy: "set it to " + inPlace + ", or not at all",
		}
	case "", inPlace:
		return value, nil
	}
	return "", &Unavailable{
		Cause:  fmt.Sprintf("%s is %q", name, value),
		Remedy: "set it to " + byFork + " or " + inPlace + ", or not at all",
	}
}

// smallImage is the size in bytes up to which the image of a program at rest is copied in place,
// even if the system allows a fork. To copy and to scan it costs half as much as with a fork: after
// a fork, each page that the program or the scan writes to is copied and flushed from the
// processors' page tables. The program stands still for longer, by about 0.2 ms for each MB.
const smallImage = 16 << 20

// take freezes the process when ready returns true. It forks, with the image where placeImage puts
// it. It copies a small image in place, and any image if the system refuses a fork.
func (s *Snapshot) take(ready func() bool) (Frozen, error) {
	way, err := requestedMethod()
	if err != nil {
		return nil, err
	}
	s.inPlace, s.copied = false, 0
	s.small = s.small && way == "" && freeze.Supported && s.noFork == nil // else there is no choice
	if way == inPlace || way == "" && !freeze.Supported {
		return asFrozen(s.takeInPlace(ready, inplace.AnySize))
	}
	if s.noFork != nil {
		return s.takeInstead(ready)
	}
	if s.onDisk > 0 {
		return asFrozen(freeze.TakeOnDisk(s.onDisk, ready))
	}
	if s.small {
		if i, err := s.takeInPlace(ready, smallImage); err == nil {
			return i, nil
		}
		s.small = false // whatever prevents the copy may not prevent a fork
	}
	p, err := freeze.TakeWhen(ready)
	if way == "" {
		s.noFork = refusal(err)
	}
	if s.noFork != nil {
		return s.takeInstead(ready)
	}
	return asFrozen(p, err)
}

// takeInstead copies in place, since the system refuses a fork.
func (s *Snapshot) takeInstead(ready func() bool) (Frozen, error) {
	i, err := s.takeInPlace(ready, inplace.AnySize)
	if err != nil {
		return nil, &freeze.Error{
			Op: s.noFork.Op, Remedy: remedy.Of(s.noFork),
			Err: fmt.Errorf("%w; nor can it be copied in place: %v", s.noFork.Err, err),
		}
	}
	return i, nil
}

// avoidFork reports whether to try again in place after an error: the system has refused to read
// the forked process.
func (s *Snapshot) avoidFork(err error) bool {
	if way, _ := requestedMethod(); way != "" || s.inPlace || s.noFork != nil || s.onDisk > 0 {
		return false
	}
	if s.noFork = refusal(err); s.noFork == nil {
		return false
	}
	if s.process != nil {
		_ = s.process.Close()
		s.process = nil
	}
	return true
}

// takeAgain freezes the process a second time, in the same way as the first, for its marks.
func (s *Snapshot) takeAgain(ready func() bool) (Frozen, error) {
	if s.inPlace {
		return asFrozen(plan.made.TakeMarks(ready))
	}
	return asFrozen(freeze.TakeWhen(ready))
}

// asFrozen keeps a nil pointer from becoming a Frozen that is not nil.
func asFrozen[P Frozen](p P, err error) (Frozen, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// refusal returns the error if it is the refusal of a system call that package freeze needs: a copy
// in place may do without that call. It returns nil for other errors.
func refusal(err error) *freeze.Error {
	var call *remedy.Error
	if !errors.As(err, &call) {
		return nil
	}
	if e := (*freeze.Error)(nil); errors.As(err, &e) {
		return e
	}
	return &freeze.Error{Op: "freezing", Err: err}
}

// plan is made once for each index; captures take turns.
var plan struct {
	of   *debuginfo.Index
	bias uint64
	made *inplace.Plan
}

// makePlan makes the plan of a copy in place.
func (s *Snapshot) makePlan() error {
	if plan.made == nil || plan.of != s.index || plan.bias != s.bias {
		made, err := inplace.NewPlan(s.index, s.bias)
		if err != nil {
			return err
		}
		giveBackSpare()
		plan.of, plan.bias, plan.made = s.index, s.bias, made
	}
	return nil
}

// giveBackSpare gives memory that is kept for the next copy in place back to the system.
func giveBackSpare() {
	if plan.made != nil {
		plan.made.GiveBack()
	}
}

// takeInPlace copies the process in place, unless it has to copy more bytes than limit.
func (s *Snapshot) takeInPlace(ready func() bool, limit int64) (*inplace.Image, error) {
	if err := s.makePlan(); err != nil {
		return nil, ModelError(err)
	}
	i, err := plan.made.Take(ready, limit)
	if err != nil {
		return nil, err
	}
	s.inPlace, s.copied = true, i.Size()
	return i, nil
}
