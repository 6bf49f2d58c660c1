package typedheap

import (
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A Timer is a pending timer that the program asked for.
type Timer struct {
	*PendingTimer
	TimerKind
	Func uint64 // closure that the program wants to be called, 0 if there is none
}

// A TimerKind is what timers that run the same have in common.
type TimerKind struct {
	Call string // name of the function that the runtime calls
	// address of the function that the program wants to be called, 0 if there is none
	Entry uint64
	// type of what was allocated, time.Timer or time.Ticker; nil if it is something else
	Of *heaptype.Type
}

// The functions of package time that the runtime calls (go1.26 and go1.27 time/sleep.go): goFunc
// starts a goroutine for the function that is the timer's argument, sendTime sends to the channel
// that is its argument.
const (
	timeGoFunc   = "time.goFunc"
	timeSendTime = "time.sendTime"
)

// Timers are the pending timers that a program asked for.
type Timers struct {
	List  []Timer
	Heaps []uint64 // addresses of the arrays that the runtime keeps timers in
}

// loadTimers lists the timers that the program asked for. It omits the runtime's own timers, such
// as that of a goroutine that sleeps: they belong to the goroutine or variable that has them.
func loadTimers(types *heaptype.Table) (*Timers, error) {
	all, err := pendingOf(types.Model)
	if err != nil {
		return nil, err
	}
	list := &Timers{Heaps: all.Heaps}
	calls := make(map[uint64]string) // by closure
	timerType, tickerType := typeOf{name: "time.Timer"}, typeOf{name: "time.Ticker"}
	for i := range all.List {
		t := Timer{PendingTimer: &all.List[i]}
		call, known := calls[t.Fn]
		if !known {
			call = functionOf(types, t.Fn)
			calls[t.Fn] = call
		}
		t.Call = call
		switch {
		case call == timeGoFunc:
			t.Func, t.Entry, t.Of = t.Arg, types.ClosureEntry(t.Arg), timerType.in(types)
		case call == timeSendTime && t.Period > 0:
			t.Of = tickerType.in(types)
		case call == timeSendTime:
			t.Of = timerType.in(types)
		case symbol.IsRuntime(symbol.Package(call)):
			continue
		}
		list.List = append(list.List, t)
	}
	return list, nil
}

// A typeOf is a type that is looked up at its first use.
type typeOf struct {
	name   string
	looked bool
	t      *heaptype.Type
}

func (o *typeOf) in(types *heaptype.Table) *heaptype.Type {
	if !o.looked {
		o.looked, o.t = true, types.Named(o.name)
	}
	return o.t
}

// functionOf returns the name of the function of a closure, "" if it is not known.
func functionOf(types *heaptype.Table, closure uint64) string {
	if f := types.Model.FuncAt(types.ClosureEntry(closure)); f != nil {
		return f.Name
	}
	return ""
}

// TimerLabel is the reference of a root to the memory of the timer itself.
const TimerLabel = "$timer"

// Edges visits the references that a timer's root holds: to the timer's own memory, and to the
// function, channel or argument of its call.
func (t *Timer) Edges(types *heaptype.Table, visit func(label string, e heaptype.Edge)) {
	self := heaptype.Edge{To: t.Addr}
	if t.Of != nil {
		self = heaptype.Edge{To: t.Addr - t.Offset, Type: t.Of, Layout: heaptype.LayoutValue, Confidence: heaptype.FromDynamic}
	}
	visit(TimerLabel, self)
	switch {
	case t.Func != 0:
		visit("$fn", types.FuncEdge(t.Func))
	case t.Call == timeSendTime:
		visit("$chan", heaptype.Edge{To: t.Arg})
	default:
		visit("$arg", heaptype.Edge{To: t.Arg})
	}
}
