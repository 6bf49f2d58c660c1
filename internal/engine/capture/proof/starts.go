package proof

import (
	"context"
	"runtime"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/capture/liveread"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Starts reports whether goroutines may start in the functions that is selects by their names, or
// be created by them. That is so if one has a go statement, if a go statement names one or may name
// it by a func value or an interface, and if one gives a function literal to what starts functions
// that it is given. If it is not so, within are functions with go statements that the selected ones
// call or lead to, the nearest first, those of the program before the standard library's.
//
// may is true if that cannot be told, and known says that there are such functions, also if they
// were inlined wherever they are called. It reads code in place, some milliseconds long if the
// selected functions have no go statement.
func Starts(ctx context.Context, is func(name string) bool) (may, known bool, within []debuginfo.Func) {
	defer snapshot.Turn()()
	var err error
	defer snapshot.Guard(&err)()
	p, err := openProgram(ctx)
	if err != nil {
		return true, false, nil
	}
	s := &startFinder{program: p, constants: p.layout.Constants(), read: make(map[uint64]*code), modules: symbol.OwnModules(), entries: make(map[uint64]bool)}
	s.find(is)
	if s.haveStatements() {
		return true, true, nil
	}
	s.findInlined(is)
	known = len(s.selected) > 0 || len(s.sites) > 0
	if s.areStarted(is) || s.giveClosures() {
		return true, known, nil
	}
	return false, known, s.within()
}

// goStatements are the functions that a go statement calls, and the start of a coroutine: that is
// in iter.Pull, not in its caller.
var goStatements = []string{"runtime.newproc", "runtime.newcoro"}

// givers call a function that they are given in a goroutine, and pass it on to do so. Others start
// it themselves.
var givers = []string{
	"time.AfterFunc", "time.goFunc", "context.AfterFunc", "sync.(*WaitGroup).Go",
	"golang.org/x/sync/errgroup.(*Group).Go", "golang.org/x/sync/errgroup.(*Group).TryGo",
}

// A startFinder finds where goroutines start in this program.
type startFinder struct {
	*program
	modules  *symbol.Modules
	read     map[uint64]*code // by entry
	all      []debuginfo.Func
	selected []debuginfo.Func
	entries  map[uint64]bool // of selected
	sites    []*code         // what copies of selected functions lead to that were inlined
	wrapped  bool            // one of these is in a go statement

	constants [][2]uintptr // where func values and method tables may lie
}

// code is what the code of a function leads to: entries of functions.
type code struct {
	calls, refers []uint64
	// it calls functions that the code does not name, or has a constant func value, or puts objects
	// on the heap: a closure among them may be started by whoever gets it, such as iter.Pull
	dynamic bool
	starts  bool // it has a go statement
}

func (s *startFinder) find(is func(name string) bool) {
	s.all = s.x.Funcs()
	for _, f := range s.all {
		if is(symbol.Unescape(f.Name)) {
			s.selected = append(s.selected, f)
			s.entries[f.Entry] = true
		}
	}
}

// haveStatements reports whether a selected function has a go statement, or is the runtime's.
func (s *startFinder) haveStatements() bool {
	for _, f := range s.selected {
		if symbol.IsRuntime(f.Package) || f.Package == "testing" || f.Package == "main" && f.Name == "main.main" || s.codeOf(f).starts {
			return true
		}
	}
	return false
}

// findInlined finds the code of selected functions that were inlined into others of the program. A
// function with a go statement is not inlined.
func (s *startFinder) findInlined(is func(name string) bool) {
	for _, f := range s.all {
		if s.modules.IsStandard(f.Package) || symbol.IsTool(f.Package) {
			continue
		}
		var c *code
		in := s.code.FuncAt(f.Entry + s.bias)
		if in == nil {
			continue
		}
		s.scan(f, func(next uint64, to *code) {
			calls := s.code.Calls(in, next-1)
			for _, inlined := range calls[:len(calls)-1] {
				if !is(symbol.Unescape(inlined.Name)) {
					continue
				}
				if c == nil {
					c = &code{}
					s.sites = append(s.sites, c)
				}
				c.add(to)
				s.wrapped = s.wrapped || isWrapper(f.Name)
				return
			}
		})
	}
}

// areStarted reports whether a go statement calls a selected function, or may call it: by a func
// value, which the function is used as somewhere, or by an interface.
func (s *startFinder) areStarted(is func(name string) bool) bool {
	if s.wrapped {
		return true
	}
	dynamic := false
	for _, f := range s.all {
		if declared, ok := strings.CutSuffix(f.Name, "-fm"); ok && is(symbol.Unescape(declared)) {
			return true
		}
		if !isWrapper(f.Name) {
			continue
		}
		c := s.codeOf(f)
		dynamic = dynamic || c.dynamic && !s.modules.IsStandard(f.Package)
		if slices.ContainsFunc(c.calls, func(to uint64) bool { return s.entries[to] }) {
			return true
		}
	}
	value, method := s.usedAsValue()
	return value || method && dynamic
}

// isWrapper reports whether a function is one that the compiler makes for a go statement with
// arguments.
func isWrapper(name string) bool { return strings.Contains(name, ".gowrap") }

// usedAsValue reports whether constants have the address of a selected function that is no closure:
// in a func value, or only in method tables of interfaces.
func (s *startFinder) usedAsValue() (value, method bool) {
	addresses := make(map[uintptr]bool)
	for _, f := range s.selected {
		if !isClosure(f) {
			addresses[uintptr(f.Entry+s.bias)] = true
		}
	}
	var found []uintptr
	for _, r := range s.constants {
		for at := r[0]; at+8 <= r[1]; at += 8 {
			if addresses[offheap.Word(at)] {
				found = append(found, at)
			}
		}
	}
	if len(found) == 0 {
		return false, false
	}
	if g, ok := s.x.GlobalByName("runtime.itabTable"); ok {
		liveread.EachMethodTable(uintptr(g.Addr+s.bias), func(from, to uintptr) {
			found = slices.DeleteFunc(found, func(at uintptr) bool { in := from <= at && at <= to; method = method || in; return in })
		})
	}
	return len(found) > 0, method
}

// isClosure reports whether a function is a closure.
func isClosure(f debuginfo.Func) bool {
	name := f.Name[min(len(f.Package), len(f.Name)):]
	return (strings.Contains(name, ".func") || strings.Contains(name, "-range")) && !strings.Contains(name, ".deferwrap") && !isWrapper(name)
}

// codes returns the code of the selected functions.
func (s *startFinder) codes() []*code {
	all := slices.Clone(s.sites)
	for _, f := range s.selected {
		all = append(all, s.codeOf(f))
	}
	return all
}

// giveClosures reports whether selected functions may give a closure of theirs to a function that
// starts what it is given.
func (s *startFinder) giveClosures() bool {
	for _, c := range s.codes() {
		if !s.any(c.refers, isClosure) {
			continue
		}
		given := func(f debuginfo.Func) bool {
			return !s.entries[f.Entry] && (s.gives(f) || s.any(s.codeOf(f).calls, s.gives))
		}
		if c.dynamic || s.any(c.calls, given) || s.any(c.refers, given) {
			return true
		}
	}
	return false
}

// any reports whether one of some functions, other than the runtime's, is as asked.
func (s *startFinder) any(entries []uint64, is func(debuginfo.Func) bool) bool {
	return slices.ContainsFunc(entries, func(entry uint64) bool {
		f, ok := s.x.FuncByPC(entry)
		return ok && !symbol.IsRuntime(f.Package) && is(f)
	})
}

// gives reports whether a function starts functions that it is given: it is known for it, or has a
// go statement and neither closures nor wrappers for one.
func (s *startFinder) gives(f debuginfo.Func) bool {
	name, _, _ := strings.Cut(f.Name, "[")
	if slices.Contains(givers, name) {
		return true
	}
	c := s.codeOf(f)
	return c.starts && !s.any(c.refers, func(debuginfo.Func) bool { return true })
}

// Bounds of within: how many functions are looked at, and how many are returned.
const (
	maxWithin = 2000
	maxStarts = 3
)

// within returns functions with go statements that the selected ones lead to.
func (s *startFinder) within() []debuginfo.Func {
	var ours, others []debuginfo.Func
	seen := make(map[uint64]bool)
	next := s.codes()
	for i := 0; i < len(next) && i < maxWithin && len(ours) < maxStarts; i++ {
		for _, to := range slices.Concat(next[i].calls, next[i].refers) {
			f, ok := s.x.FuncByPC(to)
			if !ok || seen[to] || symbol.IsRuntime(f.Package) || isWrapper(f.Name) {
				continue
			}
			seen[to] = true
			c := s.codeOf(f)
			next = append(next, c)
			switch {
			case !c.starts:
			case s.modules.IsStandard(f.Package):
				others = append(others, f)
			default:
				ours = append(ours, f)
			}
		}
	}
	if len(ours) == 0 {
		ours = others
	}
	return ours[:min(len(ours), maxStarts)]
}

// codeOf reads the code of a function.
func (s *startFinder) codeOf(f debuginfo.Func) *code {
	c := s.read[f.Entry]
	if c == nil {
		c = &code{}
		s.read[f.Entry] = c
		s.scan(f, func(_ uint64, to *code) { c.add(to) })
	}
	return c
}

func (c *code) add(to *code) {
	c.calls, c.refers = append(c.calls, to.calls...), append(c.refers, to.refers...)
	c.dynamic, c.starts = c.dynamic || to.dynamic, c.starts || to.starts
}

// scan calls visit with each part of a function's code that leads to a function, and the address
// behind it.
func (s *startFinder) scan(f debuginfo.Func, visit func(next uint64, to *code)) {
	at := f.Entry + s.bias
	goruntime.AddressesOf(offheap.Bytes(uintptr(at), uintptr(f.End-f.Entry)), at, runtime.GOARCH == "arm64", func(next, addr uint64, called bool) {
		var c code
		to, ok := s.x.FuncByPC(addr - s.bias)
		switch {
		case addr == 0:
			c.dynamic = true
		case !ok:
			if to, ok = s.funcValue(addr); !ok {
				return
			}
			c.refers, c.dynamic = []uint64{to.Entry}, true
		case to.Entry+s.bias != addr:
			return
		case called:
			c.calls, c.starts = []uint64{to.Entry}, slices.Contains(goStatements, to.Name)
			// In Go 1.27 there is a function for each size (runtime/malloc_generated.go).
			c.dynamic = to.Name == "runtime.newobject" || strings.HasPrefix(to.Name, "runtime.mallocgc")
		default:
			c.refers = []uint64{to.Entry}
		}
		visit(next, &c)
	})
}

// funcValue returns the function of a func value that is a constant.
func (s *startFinder) funcValue(addr uint64) (debuginfo.Func, bool) {
	in := func(r [2]uintptr) bool { return r[0] <= uintptr(addr) && uintptr(addr)+8 <= r[1] }
	if addr%8 != 0 || !slices.ContainsFunc(s.constants, in) {
		return debuginfo.Func{}, false
	}
	entry := uint64(offheap.Word(uintptr(addr))) - s.bias
	f, ok := s.x.FuncByPC(entry)
	return f, ok && f.Entry == entry
}
