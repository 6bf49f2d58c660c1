//go:build amd64 || arm64

package leakcheck_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

type proofLink struct {
	next *proofLink
	_    [40]byte
}

type proofTwin struct { // of the same size class as proofLink
	_ [40]byte
	_ *proofLink
}

// proofState holds the memory of the programs below.
type proofState struct {
	calls        int
	links        []*proofLink
	free, used   *proofLink
	cache, other []*proofTwin
	slots        map[int]int
	small        []*byte
	ints         []int
	buffers      [][]byte
	large        []byte
	last         any
	pool         sync.Pool
	timers       []*time.Timer
	end          chan struct{}
	fill         []*proofLink
}

var proof *proofState

// newProofState begins with what busy machines would make new in the middle of a proof. These are
// files in the folder for temporary files, which other processes have, too, and the records of
// goroutines that wait for a lock of the collector (go1.26 runtime/proc.go, acquireSudog). The
// processors keep such records for later ones.
func newProofState(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	gate := make(chan bool)
	var begun, ended sync.WaitGroup
	begun.Add(100)
	ended.Add(100)
	for range 100 {
		go func() { begun.Done(); <-gate; ended.Done() }()
	}
	begun.Wait()
	close(gate)
	ended.Wait()
	proof = &proofState{
		links: make([]*proofLink, 0, 1<<14), fill: make([]*proofLink, 0, 100), slots: make(map[int]int, 1<<15),
		small: make([]*byte, 0, 1<<16), buffers: make([][]byte, 0, 1<<14), large: make([]byte, 1<<16), end: make(chan struct{}),
	}
	state := proof
	for range 1 << 14 {
		state.free = &proofLink{next: state.free}
		state.cache = append(state.cache, &proofTwin{})
		state.other = append(state.other, &proofTwin{})
	}
	t.Cleanup(func() {
		close(state.end)
		for _, timer := range state.timers {
			timer.Stop()
		}
		if proof == state {
			proof = nil
		}
	})
}

// judgeProof asserts that op does not grow, in a new state, and returns whether that passed and
// whether counters proved it.
func judgeProof(t *testing.T, op func(), opts ...leakcheck.GrowthOption) (passed, proved bool, said string) {
	t.Helper()
	newProofState(t)
	verbose := flag.Lookup("test.v").Value
	before := verbose.String()
	require.NoError(t, verbose.Set("true")) // the log has the method by which an assertion passed
	defer func() { require.NoError(t, verbose.Set(before)) }()
	ft := &recordingT{name: t.Name()}
	passed = leakcheck.AssertNoGrowth(ft, op, opts...)
	said = strings.Join(ft.errors, "\n")
	return passed, strings.Contains(strings.Join(ft.logs, "\n"), "passed by counters"), said
}

// resurrected holds the objects that finalizers keep.
var resurrected struct {
	sync.Mutex
	links []*proofLink
}

func proofKeep() { proof.links = append(proof.links, &proofLink{}) }

var proofOps = []struct {
	name   string
	op     func()
	leaks  bool // snapshots find growth
	unseen bool // counters do not see the growth
	proved bool // counters are enough for a pass
}{
	{name: "nothing stays", op: func() { proof.last = nil; _ = make([]*proofLink, 10) }, proved: true},
	{name: "strings and a pool of the standard library", op: func() { _ = fmt.Sprint(proof.calls) }, proved: true},
	{name: "a pool", op: func() {
		b, _ := proof.pool.Get().(*[]byte)
		if b == nil {
			b = new([]byte)
			*b = make([]byte, 5000)
		}
		proof.pool.Put(b)
	}, proved: true},
	{name: "the last one is kept", op: func() { proof.last = &proofLink{} }, proved: true},
	{name: "entries come and go", op: func() { proof.calls++; proof.slots[proof.calls] = 1; delete(proof.slots, proof.calls) }, proved: true},
	{name: "goroutines that end", op: func() {
		var all sync.WaitGroup
		all.Add(1)
		go all.Done()
		all.Wait()
	}, proved: true},
	{name: "a cache that fills up", op: func() {
		if len(proof.fill) < cap(proof.fill) {
			proof.fill = append(proof.fill, &proofLink{})
		}
	}, proved: true},
	{name: "large objects swapped", op: func() { proof.large = make([]byte, 1<<16) }},
	{name: "one a call", op: proofKeep, leaks: true},
	{name: "one every 20 calls", op: func() {
		if proof.calls++; proof.calls%20 == 0 {
			proofKeep()
		}
	}, leaks: true},
	{name: "the i-th call leaves i", op: func() {
		proof.calls++
		for range proof.calls / 100 {
			proofKeep()
		}
	}, leaks: true},
	{name: "masked by a cache of the same size class", op: func() { proofKeep(); proof.cache = drop(proof.cache) }, leaks: true},
	{name: "masked so, with collections", op: func() {
		proofKeep()
		proof.cache = drop(proof.cache)
		if proof.calls++; proof.calls%100 == 0 {
			runtime.GC()
		}
	}, leaks: true},
	{name: "masked by a cache of another size class", op: func() {
		proof.buffers = append(proof.buffers, make([]byte, 100))
		proof.cache = drop(proof.cache)
	}, leaks: true},
	{name: "spare slots of a map", op: func() { proof.calls++; proof.slots[proof.calls] = 1 }, leaks: true},
	{name: "values under 16 bytes", op: func() {
		b := new(byte)
		*b = 1
		proof.small = append(proof.small, b)
	}, leaks: true},
	{name: "one small value every 10 calls", op: func() {
		if proof.calls++; proof.calls%10 == 0 {
			b := new(byte)
			*b = 1
			proof.small = append(proof.small, b)
		}
	}, leaks: true},
	{name: "an array that grows", op: func() { proof.ints = append(proof.ints, 1, 2) }, leaks: true},
	{name: "goroutines that stay", op: func() {
		end := proof.end
		go func() { <-end }()
	}, leaks: true},
	{name: "goroutines that others make room for", op: func() {
		end, all := make(chan struct{}), proof.end
		go func() {
			select {
			case <-end:
			case <-all:
			}
		}()
		if proof.calls++; proof.calls%2 == 0 {
			close(end)
		}
	}, leaks: true},
	{name: "timers", op: func() { proof.timers = append(proof.timers, time.AfterFunc(time.Hour, func() {})) }, leaks: true},
	{name: "what its finalizer keeps", op: func() {
		runtime.SetFinalizer(&proofLink{}, func(l *proofLink) {
			resurrected.Lock()
			defer resurrected.Unlock()
			resurrected.links = append(resurrected.links, l)
		})
	}, leaks: true},
	{name: "from a free list to another one", op: func() {
		l := proof.free
		proof.free, l.next, proof.used = l.next, proof.used, l
	}, leaks: true, unseen: true},
}

func drop(cache []*proofTwin) []*proofTwin {
	if len(cache) == 0 {
		return nil
	}
	cache[len(cache)-1] = nil
	return cache[:len(cache)-1]
}

// Programs that leave nothing pass, mostly by a proof.
func TestProofsOfHealthyPrograms(t *testing.T) {
	for _, tt := range proofOps {
		if tt.leaks {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			for try := 1; ; try++ {
				passed, proved, said := judgeProof(t, tt.op)
				require.True(t, passed, said)
				if proved || !tt.proved {
					break
				}
				require.Less(t, try, 5, "snapshots were needed") // other goroutines may move the counters
			}
		})
	}
}

// No leak passes by a proof, except for those in Full's documentation.
func TestNoProofOfALeak(t *testing.T) {
	require.Slow(t)
	for _, tt := range proofOps {
		if !tt.leaks {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			if tt.unseen {
				judgeUnseen(t, tt.op)
				return
			}
			passed, proved, said := judgeProof(t, tt.op)
			require.False(t, passed || proved, said)
		})
	}
}

// judgeUnseen judges a leak that counters do not see: it passes by counters alone. If other
// goroutines move the counters, snapshots are taken, which find the leak.
func judgeUnseen(t *testing.T, op func()) {
	t.Helper()
	for try := 1; ; try++ {
		passed, proved, said := judgeProof(t, op)
		require.Equal(t, proved, passed, said)
		if proved {
			break
		}
		require.Less(t, try, 5, "snapshots were needed")
	}
	passed, proved, _ := judgeProof(t, op, leakcheck.Full())
	require.False(t, passed || proved)
}

// Random programs consist of several such operations each. If a program passes by a proof, the full
// experiment passes, too.
func TestProofsHoldForRandomPrograms(t *testing.T) {
	require.Slow(t)
	proofs := 0
	rounds := 6
	if os.Getenv("LEAKGATE_LONG") != "" {
		rounds = 60
	}
	for round := range rounds {
		random := rand.New(rand.NewPCG(7, uint64(round)))
		type part struct{ of, every, at int }
		var parts []part
		for range 1 + random.IntN(4) {
			p := part{random.IntN(len(proofOps)), 1 + random.IntN(3)*random.IntN(40), 0}
			if leaks := proofOps[p.of].leaks; leaks && random.IntN(2) == 0 {
				p.every = 100 + random.IntN(1000) // at about the rate below which growth is no leak
			}
			if !proofOps[p.of].unseen {
				parts = append(parts, p)
			}
		}
		calls := 0
		op := func() {
			calls++
			for _, p := range parts {
				if calls%p.every == p.at {
					proofOps[p.of].op()
				}
			}
		}
		_, proved, _ := judgeProof(t, op)
		if !proved {
			continue
		}
		proofs++
		calls = 0
		passed, _, said := judgeProof(t, op, leakcheck.Full())
		require.True(t, passed, fmt.Sprintf("round %d: %v\n%s", round, parts, said))
	}
	t.Logf("%d were proved", proofs)
}

// There is no proof with Full, and with options that the counters do not know.
func TestProofIsNotTried(t *testing.T) {
	op := func() { _ = fmt.Sprint(1) }
	for name, opts := range map[string][]leakcheck.GrowthOption{
		"Full":       {leakcheck.Full()},
		"Scope":      {leakcheck.Scope("time")},
		"Ignore":     {leakcheck.Ignore("leakcheck_test.proof.fill", "for this test")},
		"Iterations": {leakcheck.Iterations(60)},
	} {
		if name == "Full" && !require.IsSlow() {
			continue // as with the variable
		}
		passed, proved, said := judgeProof(t, op, opts...)
		require.True(t, passed, said)
		require.False(t, proved, name)
	}
	t.Setenv("LEAKGATE_FULL", "1")
	_, proved, _ := judgeProof(t, op)
	require.False(t, proved)
}
