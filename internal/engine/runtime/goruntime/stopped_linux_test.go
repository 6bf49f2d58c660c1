package goruntime_test

import (
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A stopped is the recorded program, taken for one that something else stopped: its running
// goroutine, and the thread that runs it.
type stopped struct {
	*imagetest.Bench
	g, m uint64 // addresses of the records
}

func newStopped(t *testing.T) *stopped {
	t.Helper()
	b := imagetest.NewBench(t)
	s := &stopped{Bench: b}
	for _, g := range b.Model.Goroutines {
		if g.IsCaller {
			s.g = g.Addr
		}
	}
	require.NotZero(t, s.g, "the goroutine that took the image")
	for m := b.U64(b.Variable("runtime.allm")); m != 0; m = b.U64(m + b.Offset("runtime.m", "alllink")) {
		if b.U64(m+b.Offset("runtime.m", "curg")) == s.g {
			s.m = m
		}
	}
	require.NotZero(t, s.m, "a thread runs it")
	return s
}

func (s *stopped) memory() *image.Space { return image.NewSpace(s) }

// thread is the thread, stopped where the goroutine took the image.
func (s *stopped) thread() goruntime.Thread {
	return goruntime.Thread{TID: int(s.U64(s.m + s.Offset("runtime.m", "procid"))), PC: s.PC, SP: s.SP}
}

// load loads the model, and returns the running goroutine.
func (s *stopped) load(threads ...goruntime.Thread) (*goruntime.Model, *goruntime.Goroutine) {
	s.TB.Helper()
	m, err := goruntime.LoadStopped(s.memory(), s.Index, 0, runtime.GOARCH, threads)
	require.NoError(s.TB, err)
	for _, g := range m.Goroutines {
		if g.Addr == s.g {
			return m, g
		}
	}
	require.Fail(s.TB, "the running goroutine is gone")
	return nil, nil
}

// signalStack puts what the kernel saves for a signal handler on the signal stack, and returns a
// stack pointer below.
func (s *stopped) signalStack(pc, sp, register uint64) uint64 {
	signal := s.U64(s.m + s.Offset("runtime.m", "gsignal"))
	lo, hi := s.U64(signal+s.Offset("runtime.g", "stack.lo")), s.U64(signal+s.Offset("runtime.g", "stack.hi"))
	at := hi - 2048
	s.Put(at, make([]byte, 1024))
	s.PutU64(at, lo)       // stack_t.ss_sp
	s.PutU64(at+16, hi-lo) // stack_t.ss_size
	// From there on: the registers, with those of sp and pc.
	registers, ofSP, ofPC := uint64(24), uint64(15), uint64(16)
	if runtime.GOARCH == "arm64" {
		registers, ofSP, ofPC = 168, 31, 32
	}
	s.PutU64(at+registers+8*3, register)
	s.PutU64(at+registers+8*ofSP, sp)
	s.PutU64(at+registers+8*ofPC, pc)
	return at - 64
}

// ofRegisters returns what the registers of a goroutine lead to, by LiveSlots.
func ofRegisters(t *testing.T, m *goruntime.Model, g *goruntime.Goroutine) (values []uint64) {
	t.Helper()
	require.NoError(t, m.LiveSlots(g, func(s goruntime.Slot) {
		if s.Addr < 4<<10 {
			assert.True(t, s.Conservative, "the registers may hold anything")
			values = append(values, s.Value)
		}
	}))
	return values
}

// A goroutine whose thread was stopped in the goroutine's own code has its frames from there on,
// and the registers of the thread. The thread is found by its number, or by its stack.
func TestStoppedThread(t *testing.T) {
	for name, tid := range map[string]int{"by number": 0, "of another pid namespace": 1 << 21} {
		t.Run(name, func(t *testing.T) {
			s := newStopped(t)
			thread, chain := s.thread(), s.U64(s.Variable("main.chain"))
			thread.TID += tid
			thread.Registers = []uint64{0, chain}
			other := goruntime.Thread{TID: 1, PC: nowhere, SP: nowhere, Registers: []uint64{1}}
			m, g := s.load(other, thread)
			assert.True(t, m.WasStopped())
			assert.Equal(t, goruntime.Stop{Threads: 2, Interrupted: 1}, m.Stopped)
			assert.False(t, g.Lost())
			assert.Equal(t, []uint64{chain}, ofRegisters(t, m, g))
			calls, err := callsOf(m, g)
			require.NoError(t, err)
			assert.Contains(t, calls[0].Name, "freeze.", "the code that froze the process")
			assert.True(t, slices.ContainsFunc(calls, func(c goruntime.Call) bool { return c.Name == "main.write" }))
			n := 0
			require.NoError(t, m.LiveSlots(g, func(s goruntime.Slot) {
				if s.Frame != nil && s.Frame.Async {
					assert.True(t, s.Conservative, "its innermost frame has no stack map")
					n++
				}
			}))
			assert.Positive(t, n)
		})
	}
}

// Of a goroutine without a thread, or one that is about to begin, all of the stack may be in use.
func TestLostGoroutine(t *testing.T) {
	for name, threads := range map[string]func(s *stopped) []goruntime.Thread{
		"no thread": func(*stopped) []goruntime.Thread { return nil },
		"in gogo": func(s *stopped) []goruntime.Thread {
			thread := s.thread()
			thread.PC = s.Function("runtime.gogo") + 4
			return []goruntime.Thread{thread}
		},
		"in no function": func(s *stopped) []goruntime.Thread {
			thread := s.thread()
			thread.PC = nowhere
			return []goruntime.Thread{thread}
		},
		"in a signal handler that cannot be read": func(s *stopped) []goruntime.Thread {
			thread := s.thread()
			thread.SP = s.signalStack(s.PC, s.SP, 0)
			s.PutU64(thread.SP+64, 0)
			return []goruntime.Thread{thread}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStopped(t)
			all := threads(s)
			m, g := s.load(all...)
			assert.True(t, g.Lost())
			assert.Equal(t, goruntime.Stop{Threads: len(all), Lost: 1}, m.Stopped)
			n := 0
			require.NoError(t, m.LiveSlots(g, func(s goruntime.Slot) {
				assert.True(t, s.Conservative)
				n++
			}))
			assert.Positive(t, n)
		})
	}
}

// A goroutine whose stack is being copied is lost, though its thread is where it should be.
func TestMovedStack(t *testing.T) {
	s := newStopped(t)
	s.PutU32(s.g+s.Offset("runtime.g", "atomicstatus"), 8) // Copystack
	_, g := s.load(s.thread())
	assert.True(t, g.Lost())
}

// What the kernel saved for a signal handler is where the goroutine stood, and its registers.
func TestSignalHandler(t *testing.T) {
	s := newStopped(t)
	chain := s.U64(s.Variable("main.chain"))
	thread := s.thread()
	thread.SP, thread.PC = s.signalStack(s.PC, s.SP, chain), s.Function("runtime.sighandler")
	m, g := s.load(thread)
	assert.False(t, g.Lost())
	assert.Equal(t, goruntime.Stop{Threads: 1, Interrupted: 1}, m.Stopped)
	assert.Equal(t, []uint64{s.PC, s.SP}, []uint64{g.PC, g.SP})
	assert.Contains(t, ofRegisters(t, m, g), chain)
}

// A goroutine that reads the clock stands where the runtime wrote down, though its thread is on
// another stack.
func TestClock(t *testing.T) {
	s := newStopped(t)
	s.PutU64(s.m+s.Offset("runtime.m", "vdsoSP"), s.SP)
	s.PutU64(s.m+s.Offset("runtime.m", "vdsoPC"), s.PC)
	thread := s.thread()
	thread.PC = nowhere
	thread.SP = s.U64(s.U64(s.m+s.Offset("runtime.m", "g0")) + s.Offset("runtime.g", "stack.hi"))
	m, g := s.load(thread)
	assert.False(t, g.Lost())
	assert.Equal(t, []uint64{s.PC, s.SP}, []uint64{g.PC, g.SP})
	assert.Equal(t, goruntime.Stop{Threads: 1}, m.Stopped)
}

// A collection that marks does not matter to a model of a stopped process, and to no other one.
func TestMarking(t *testing.T) {
	s := newStopped(t)
	s.PutU32(s.Variable("runtime.gcphase"), 1)
	m, _ := s.load(s.thread())
	assert.EqualValues(t, 1, m.Stopped.Phase)
	_, err := goruntime.LoadMarks(s.memory(), s.Index, 0, runtime.GOARCH)
	require.ErrorIs(t, err, goruntime.ErrCollecting)
	marks, err := goruntime.LoadStoppedMarks(s.memory(), s.Index, 0, runtime.GOARCH)
	require.NoError(t, err)
	assert.Equal(t, len(m.Spans), len(marks.Spans))
	assert.Empty(t, marks.Goroutines)
}

func TestGate(t *testing.T) {
	status := func(s *stopped, g uint64, v uint32) { s.PutU32(g+s.Offset("runtime.g", "atomicstatus"), v) }
	for name, c := range map[string]struct {
		change func(s *stopped, thread *goruntime.Thread)
		want   error
	}{
		"a good moment":            {func(*stopped, *goruntime.Thread) {}, nil},
		"a stack that is copied":   {func(s *stopped, _ *goruntime.Thread) { status(s, s.g, 8) }, goruntime.ErrUnsafePoint},
		"a stack that is scanned":  {func(s *stopped, _ *goruntime.Thread) { status(s, s.g, 0x1002) }, goruntime.ErrUnsafePoint},
		"gogo":                     {func(s *stopped, t *goruntime.Thread) { t.PC = s.Function("runtime.gogo") + 4 }, goruntime.ErrUnsafePoint},
		"a signal without a frame": {func(s *stopped, t *goruntime.Thread) { t.SP = s.signalStack(1, 1, 0); s.PutU64(t.SP+64, 0) }, goruntime.ErrUnsafePoint},
		"a stack that is scanned without a thread": {func(s *stopped, _ *goruntime.Thread) {
			status(s, s.Goroutine("main.local").Addr, 0x1004)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStopped(t)
			gate, err := goruntime.NewGate(s.memory(), s.Index, 0, runtime.GOARCH)
			require.NoError(t, err)
			thread := s.thread()
			c.change(s, &thread)
			require.ErrorIs(t, gate.Check(s.memory(), []goruntime.Thread{thread}), c.want)
			assert.Equal(t, c.want != nil, goruntime.IsTransient(c.want))
		})
	}
}

// A gate rests while no collection marks or is about to.
func TestGateRests(t *testing.T) {
	s := newStopped(t)
	gate, err := goruntime.NewGate(s.memory(), s.Index, 0, runtime.GOARCH)
	require.NoError(t, err)
	rests := func() error {
		require.NoError(t, gate.Check(s.memory(), []goruntime.Thread{s.thread()}))
		return gate.Resting()
	}
	require.NoError(t, rests())
	s.PutU32(s.Variable("runtime.gcphase"), 2)
	err = rests()
	require.ErrorIs(t, err, goruntime.ErrCollecting)
	assert.True(t, goruntime.IsTransient(err))
	s.Mend()
	s.Put(s.Variable("runtime.sched")+s.Offset("runtime.schedt", "gcwaiting"), []byte{1})
	require.ErrorIs(t, rests(), goruntime.ErrCollecting)
}

// The signal stack of a thread is found by a stack pointer on another of its stacks.
func TestSignalStack(t *testing.T) {
	s := newStopped(t)
	gate, err := goruntime.NewGate(s.memory(), s.Index, 0, runtime.GOARCH)
	require.NoError(t, err)
	stack := func(field string) (lo, hi uint64) {
		g := s.U64(s.m + s.Offset("runtime.m", field))
		return s.U64(g + s.Offset("runtime.g", "stack.lo")), s.U64(g + s.Offset("runtime.g", "stack.hi"))
	}
	lo, hi := stack("gsignal")
	_, ofG0 := stack("g0")
	for sp, want := range map[uint64][2]uint64{s.SP: {lo, hi}, ofG0: {lo, hi}, hi: {}, nowhere: {}} {
		gotLo, gotHi := gate.SignalStack(s.memory(), sp)
		assert.Equal(t, want, [2]uint64{gotLo, gotHi})
	}
}

// The stacks that the system gave are those of the runtime's list of threads.
func TestSystemStacks(t *testing.T) {
	s := newStopped(t)
	s.Put(s.m+s.Offset("runtime.m", "incgo"), []byte{1})
	m, err := s.Load(s.Program)
	require.NoError(t, err)
	stacks, err := m.SystemStacks()
	require.NoError(t, err)
	var want []goruntime.SystemStack
	for m := s.U64(s.Variable("runtime.allm")); m != 0; m = s.U64(m + s.Offset("runtime.m", "alllink")) {
		g0 := s.U64(m + s.Offset("runtime.m", "g0"))
		want = append(want, goruntime.SystemStack{SP: s.U64(g0 + s.Offset("runtime.g", "sched.sp")), InC: m == s.m})
	}
	assert.Greater(t, len(want), 1)
	assert.Equal(t, want, stacks)
}

// A process that goes on has goroutines that run or are about to, and timers.
func TestRunning(t *testing.T) {
	s := newStopped(t)
	r, err := goruntime.NewRunning(s.memory(), s.Index, 0, runtime.GOARCH)
	require.NoError(t, err)
	want := 0
	for _, g := range s.Model.Goroutines {
		if status := s.U64(g.Addr+s.Offset("runtime.g", "atomicstatus")) & 0xff; status == 1 || status == 2 {
			want++
		}
	}
	n, err := r.Active(s.memory())
	require.NoError(t, err)
	assert.Equal(t, want, n)
	s.PutU32(s.Goroutine("main.local").Addr+s.Offset("runtime.g", "atomicstatus"), 0x1001) // runnable, and scanned
	n, err = r.Active(s.memory())
	require.NoError(t, err)
	assert.Equal(t, want+1, n)

	var own []uint64 // of the time.Timers of the program
	list := s.Variable("main.timers")
	for i := range s.U64(list + 8) {
		own = append(own, s.U64(s.U64(list)+8*i))
	}
	odd := uint64(0) // the timer that repeats
	visited := func() (found []uint64) {
		require.NoError(t, r.EachTimer(s.memory(), func(timer uint64, when int64, repeats bool) {
			span, obj := s.Object(timer)
			found = append(found, span.Addr(obj))
			assert.Greater(t, when, int64(3600e9), "it is due in an hour")
			assert.Equal(t, timer == odd, repeats)
		}))
		return found
	}
	found := visited()
	slices.Sort(own)
	slices.Sort(found)
	assert.Equal(t, own, found)

	at := s.Offset("time.Timer", "initTimer") + 8
	odd = own[0] + at
	s.PutU64(odd+s.Offset("runtime.timer", "period"), 1)
	stopped := own[1] + at
	s.Put(stopped+s.Offset("runtime.timer", "state"), []byte{4}) // a zombie
	found = visited()
	slices.Sort(found)
	assert.Equal(t, slices.Delete(own, 1, 2), found)
	s.PutU64(s.Variable("runtime.allp")+8, 1<<40)
	require.ErrorContains(t, r.EachTimer(s.memory(), nil), "processors")
}

// A program of a version that is not known, or on a processor that is not, is refused.
func TestUnknownProgram(t *testing.T) {
	b := imagetest.NewBench(t)
	_, err := goruntime.LoadCode(image.NewSpace(b), b.Index, 0, "mips")
	require.ErrorContains(t, err, "mips")
}

// Registers come in the order of the kernel's user_regs_struct and user_pt_regs.
func TestRegisters(t *testing.T) {
	for arch, c := range map[string]struct {
		registers string
		own       int // the first ones, which may hold pointers
		vectors   int
	}{
		"amd64": {"r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax PC cs eflags SP ss", 15, 160},
		"arm64": {strings.Repeat("x ", 30) + "LR SP PC pstate", 31, 0},
	} {
		layout := goruntime.RegisterLayouts[arch]
		var b []byte
		at := make(map[string]uint64)
		want := goruntime.Thread{TID: 7}
		for i, name := range strings.Fields(c.registers) {
			at[name] = uint64(100 + i)
			b = binary.LittleEndian.AppendUint64(b, at[name])
			if i < c.own {
				want.Registers = append(want.Registers, at[name])
			}
		}
		want.PC, want.SP, want.LR = at["PC"], at["SP"], at["LR"]
		got, ok := layout.General(7, b)
		require.True(t, ok, arch)
		assert.Equal(t, want, got, arch)
		layout.Vectors(&got, append(make([]byte, c.vectors), 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 5))
		assert.Equal(t, append(want.Registers, 9), got.Registers, arch)
		_, ok = layout.General(7, b[:8*16])
		assert.False(t, ok, arch)
	}
}
