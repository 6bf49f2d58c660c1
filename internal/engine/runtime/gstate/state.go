// Package gstate reads the runtime's data on goroutines besides their stacks: their state, the
// reason of their wait, and their profiler labels. It also measures the stack memory that belongs
// to no living goroutine.
package gstate

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// statusNames are the states of goroutines as tracebacks name them (runtime/traceback.go,
// gStatusStrings; go1.26 and go1.27).
var statusNames = map[uint32]string{
	rtlayout.Idle: "idle", rtlayout.Runnable: "runnable", rtlayout.Running: "running", 3: "syscall", rtlayout.Waiting: "waiting", rtlayout.Dead: "dead",
	rtlayout.Copystack: "copystack", 9: "preempted", rtlayout.Leaked: "leaked", rtlayout.DeadExtra: "waiting for cgo callback",
}

// State is the runtime's data on a goroutine besides its stack.
type State struct {
	ID, Parent uint64
	Status     string
	WaitReason string // "" if it does not wait
	Labels     uint64 // address of the profiler labels, 0 if it has none
	Locked     bool   // to its thread
	// the goroutine was running without a usable record: its frames and stack pointer are unknown
	Unwalkable bool
}

// States reads State records.
type States struct {
	m       *goruntime.Model
	at      rtlayout.Goroutine
	reasons []string
}

// NewStates looks up the fields that reading states needs.
func NewStates(m *goruntime.Model) (*States, error) {
	l := m.Fields()
	s := &States{m: m}
	if l.Fill(&s.at); l.Err() != nil {
		return nil, l.Err()
	}
	var err error
	s.reasons, err = waitReasons(m, l)
	return s, err
}

// waitReasons reads runtime.waitReasonStrings, so that reasons that a Go version adds have their
// names.
func waitReasons(m *goruntime.Model, l *rtlayout.Lookup) ([]string, error) {
	v := l.Variable("runtime.waitReasonStrings")
	if l.Err() != nil {
		return nil, l.Err()
	}
	n := l.Type(v.Type).Len
	if n <= 0 || n > 256 { // waitReason is a uint8
		return nil, fmt.Errorf("runtime.waitReasonStrings has %d elements", n)
	}
	names := make([]string, n)
	for i := range names {
		ok := false
		if names[i], ok = stringAt(m, v.Addr+16*uint64(i)); !ok {
			return nil, fmt.Errorf("the name of wait reason %d cannot be read", i)
		}
	}
	return names, nil
}

// Of returns the state of a goroutine.
func (s *States) Of(g *goruntime.Goroutine) State {
	mem := s.m.Mem
	word := func(field uintptr) uint64 { return mem.U64(g.Addr + uint64(field)) }
	status := mem.U32(g.Addr+uint64(s.at.Status)) &^ rtlayout.Scanning
	st := State{
		ID: word(s.at.ID), Parent: word(s.at.Parent), Status: statusNames[status],
		Labels: word(s.at.Labels), Locked: word(s.at.Locked) != 0, Unwalkable: g.Lost(),
	}
	if st.Status == "" {
		st.Status = fmt.Sprintf("status %d", status)
	}
	if status == rtlayout.Waiting || status == rtlayout.Leaked {
		if r := int(mem.U8(g.Addr + uint64(s.at.WaitReason))); r > 0 && r < len(s.reasons) {
			st.WaitReason = s.reasons[r]
		}
	}
	return st
}
