//go:build amd64 || arm64

package leakcheck_test

import (
	"bytes"
	"flag"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

// sliceState holds the slices that the operations below append to.
type sliceState struct {
	ints   []int
	marks  []*int
	calls  int
	events *sliceEvents
	buffer bytes.Buffer
	cursor *sliceCursor
	text   string
	jobs   chan int // to a worker
	queue  chan int
	words  chan string
}

type sliceEvents struct {
	about string
	names []string
}

// A sliceCursor has words like those of a slice, but is none.
type sliceCursor struct {
	block  *[1 << 12]byte
	at, to int
}

// sliceWorker keeps a slice in its frame. Each job is an element more for it.
func sliceWorker(jobs, done chan int) {
	seen := make([]int, 0, 10_000) // too large for the stack
	for j := range jobs {
		seen = append(seen, j)
		done <- len(seen)
	}
}

// workingSlices starts a worker.
func workingSlices() sliceState {
	s := sliceState{jobs: make(chan int), queue: make(chan int)}
	go sliceWorker(s.jobs, s.queue)
	return s
}

func doJob() {
	sliced.jobs <- 1
	<-sliced.queue
}

var (
	sliced sliceState
	aMark  int
)

const (
	sliceNoted = "could not tell, and did not judge: "
	manyInts   = 10_000_000 // too many to fill
	largeHeap  = 5 << 20    // pointers: more bytes than are searched for slices
	manySent   = 1 << 16    // elements: more than are sent
	someSent   = 4000       // more than are sent where a note ends the experiment
)

// Operations that add to slices with spare capacity.
var sliceOps = []struct {
	name  string
	state func() sliceState
	op    func()
	opts  []leakcheck.GrowthOption
	found string // the message about the leak
	noted string // or the note of a pass; if found is given, too, either
}{
	{
		name:  "numbers",
		state: func() sliceState { return sliceState{ints: make([]int, 0, 3000)} },
		op:    func() { sliced.ints = append(sliced.ints, 1) },
		found: "in []int via github.com/leakgate/leakgate/leakcheck_test.sliced.ints\n",
	},
	{
		name:  "three a call",
		state: func() sliceState { return sliceState{ints: make([]int, 0, 3000)} },
		op:    func() { sliced.ints = append(sliced.ints, 1, 2, 3) },
		found: "in []int via github.com/leakgate/leakgate/leakcheck_test.sliced.ints\n",
	},
	{
		name: "constants, in an object",
		state: func() sliceState {
			return sliceState{events: &sliceEvents{about: "what happened", names: make([]string, 100, 3000)}}
		},
		op:    func() { sliced.events.names = append(sliced.events.names, "started") },
		found: "in []string via github.com/leakgate/leakgate/leakcheck_test.sliced.events.names\n",
	},
	{
		name: "a buffer",
		state: func() (s sliceState) {
			s.buffer.Grow(20_000)
			return s
		},
		op:    func() { sliced.buffer.WriteString("a line\n") },
		found: "in []uint8 via github.com/leakgate/leakgate/leakcheck_test.sliced.buffer.buf\n",
	},
	{
		name:  "a large array that is full, and moves once",
		state: func() sliceState { return sliceState{ints: make([]int, 10_000)} },
		op:    func() { sliced.ints = append(sliced.ints, 1) },
		found: "in []int via github.com/leakgate/leakgate/leakcheck_test.sliced.ints\n",
	},
	{
		name:  "more room than can be filled",
		state: func() sliceState { return sliceState{ints: make([]int, 7, manyInts)} },
		op:    func() { sliced.ints = append(sliced.ints, 1) },
		noted: "+8.0 B/op via github.com/leakgate/leakgate/leakcheck_test.sliced.ints, in arrays that had room for them (",
	},
	{
		name:  "in full",
		state: func() sliceState { return sliceState{ints: make([]int, 0, 3000)} },
		op:    func() { sliced.ints = append(sliced.ints, 1, 2) },
		opts:  []leakcheck.GrowthOption{leakcheck.Iterations(20)},
		noted: "+16 B/op via github.com/leakgate/leakgate/leakcheck_test.sliced.ints, in arrays that had room for them (",
	},
	{ // 64 pointers take 512 bytes, and 128 with a header 1,152, which have room for 143
		name:  "more than twice the room",
		op:    func() { sliced.marks = append(sliced.marks, &aMark) },
		opts:  []leakcheck.GrowthOption{leakcheck.Iterations(17), leakcheck.Warmup(17)},
		found: "in []*int via github.com/leakgate/leakgate/leakcheck_test.sliced.marks\n",
	},
	{
		name:  "more room than calls in the first batch",
		op:    func() { sliced.marks = append(sliced.marks, &aMark) },
		opts:  []leakcheck.GrowthOption{leakcheck.Iterations(66), leakcheck.Warmup(66)},
		found: "in []*int via github.com/leakgate/leakgate/leakcheck_test.sliced.marks\n",
	},
	{ // 1,152, 4,864, 8,192, 12,288 bytes: a quarter as many a call in the end as at first
		name:  "ever smaller steps",
		op:    func() { sliced.marks = append(sliced.marks, &aMark) },
		opts:  []leakcheck.GrowthOption{leakcheck.Iterations(149), leakcheck.Warmup(141)},
		found: "in []*int via github.com/leakgate/leakgate/leakcheck_test.sliced.marks\n",
	},
	{
		name:  "some calls add to it",
		state: func() sliceState { return sliceState{ints: make([]int, 0, 100)} },
		op: func() {
			if sliced.calls++; sliced.calls%3 == 0 {
				sliced.ints = append(sliced.ints, 1)
			}
		},
		opts:  []leakcheck.GrowthOption{leakcheck.Iterations(50), leakcheck.Warmup(50)},
		found: "in []int via github.com/leakgate/leakgate/leakcheck_test.sliced.ints\n",
	},
	{
		name:  "some calls add to it, which counters see",
		state: func() sliceState { return sliceState{ints: make([]int, 0, 3000)} },
		op: func() {
			if sliced.calls++; sliced.calls%3 == 0 {
				sliced.ints = append(sliced.ints, 1)
			}
		},
		found: "in []int via github.com/leakgate/leakgate/leakcheck_test.sliced.ints\n",
	},
	{ // the experiment begins anew to fill an array, and another array, with more room, takes its place
		name:  "some calls add to it, and one array after another is full",
		state: func() sliceState { return sliceState{marks: make([]*int, 48, 64)} },
		op: func() {
			if sliced.calls++; sliced.calls%5 == 0 {
				sliced.marks = append(sliced.marks, &aMark)
			}
		},
		opts:  []leakcheck.GrowthOption{leakcheck.Iterations(20), leakcheck.Full()},
		found: "in []*int via github.com/leakgate/leakgate/leakcheck_test.sliced.marks\n",
		// on a busy machine, where the last batch has too few calls to fill another array
		noted: "+1.6 B/op via github.com/leakgate/leakgate/leakcheck_test.sliced.marks, in arrays that had room for them (",
	},
	{
		name: "each call adds another number, in an object",
		state: func() sliceState {
			return sliceState{events: &sliceEvents{names: make([]string, 100, 3000)}}
		},
		op: func() {
			sliced.calls++
			for range sliced.calls * 7 % 5 {
				sliced.events.names = append(sliced.events.names, "started")
			}
		},
		found: "in []string via github.com/leakgate/leakgate/leakcheck_test.sliced.events.names\n",
	},
	{
		name:  "a buffer of another length for each call",
		state: func() sliceState { return sliceState{ints: make([]int, 0, 500)} },
		op: func() {
			sliced.calls++
			sliced.ints = sliced.ints[:sliced.calls*377%499]
		},
	},
	{ // the next size of such a string has 8,192 bytes more
		name:  "a string, which has no capacity",
		state: func() sliceState { return sliceState{text: strings.Repeat("a line\n", 6000)} },
		op:    func() { sliced.text += "abcd" },
		found: "in string via github.com/leakgate/leakgate/leakcheck_test.sliced.text\n",
	},
	{
		name:  "copied to an array of its length",
		state: func() sliceState { return sliceState{marks: make([]*int, 1100)} }, // few calls to the next size, on a slow machine, too
		op:    func() { sliced.marks = append(make([]*int, 0, len(sliced.marks)+1), append(sliced.marks, &aMark)...) },
		found: "in []*int via github.com/leakgate/leakgate/leakcheck_test.sliced.marks\n",
	},
	{
		name:  "strings of other lengths by turns",
		state: func() sliceState { return sliceState{text: strings.Repeat("x", 10_000)} },
		op: func() {
			sliced.calls++
			sliced.text = strings.Repeat("x", 9_600+sliced.calls*377%499)
		},
	},
	{
		name:  "a call that is slow",
		state: func() sliceState { return sliceState{ints: make([]int, 0, 1<<15)} },
		op: func() {
			if sliced.calls++; sliced.calls == 400 {
				time.Sleep(time.Second / 10)
			}
			sliced.ints = append(sliced.ints, 1)
		},
		found: "in []int via github.com/leakgate/leakgate/leakcheck_test.sliced.ints\n",
	},
	{
		name:  "left out",
		state: func() sliceState { return sliceState{ints: make([]int, 0, manyInts)} },
		op:    func() { sliced.ints = append(sliced.ints, 1) },
		opts:  []leakcheck.GrowthOption{leakcheck.Ignore("github.com/leakgate/leakgate/leakcheck_test.sliced.ints", "for this test")},
	},
	{
		name: "in an object, beside much garbage",
		state: func() sliceState {
			runtime.KeepAlive(make([]*int, largeHeap))
			return sliceState{events: &sliceEvents{names: make([]string, 100, 3000)}}
		},
		op:    func() { sliced.events.names = append(sliced.events.names, "started") },
		found: "in []string via github.com/leakgate/leakgate/leakcheck_test.sliced.events.names\n",
	},
	{
		name: "in an object of a large heap",
		state: func() sliceState {
			return sliceState{marks: make([]*int, largeHeap), events: &sliceEvents{names: make([]string, 100, 3000)}}
		},
		op: func() { sliced.events.names = append(sliced.events.names, "started") },
		// Snapshots find it. They follow if counters prove nothing: another process may make a
		// file.
		found: "in []string via github.com/leakgate/leakgate/leakcheck_test.sliced.events.names\n",
		noted: "what is appended to slices in heap objects, in arrays that had room for it; objects with pointers have ",
	},
	{
		name:  "in a goroutine's frame",
		state: workingSlices,
		op:    doJob,
		found: "in []int via github.com/leakgate/leakgate/leakcheck_test.sliceWorker.seen\n",
	},
	{
		name:  "in a goroutine's frame, in full",
		state: workingSlices,
		op:    doJob,
		opts:  []leakcheck.GrowthOption{leakcheck.Full()},
		found: "in []int via github.com/leakgate/leakgate/leakcheck_test.sliceWorker.seen\n",
	},
	{
		name:  "a channel that nobody receives from",
		state: func() sliceState { return sliceState{queue: make(chan int, manySent)} },
		op:    func() { sliced.queue <- 1 },
		found: "in the buffer of a chan int via github.com/leakgate/leakgate/leakcheck_test.sliced.queue\n",
	},
	{
		name:  "a channel of constants, in full",
		state: func() sliceState { return sliceState{words: make(chan string, manySent)} },
		op:    func() { sliced.words <- "started" },
		opts:  []leakcheck.GrowthOption{leakcheck.Full()},
		found: "in the buffer of a chan string via github.com/leakgate/leakgate/leakcheck_test.sliced.words\n",
	},
	{
		name:  "a channel that more calls might fill",
		state: func() sliceState { return sliceState{queue: make(chan int, someSent)} },
		op:    func() { sliced.queue <- 1 },
		noted: "elements sent to a channel and not received: ",
	},
	{
		name:  "a channel that more calls might fill, in full",
		state: func() sliceState { return sliceState{words: make(chan string, someSent)} },
		op:    func() { sliced.words <- "started" },
		opts:  []leakcheck.GrowthOption{leakcheck.Full()},
		noted: "elements sent to a channel and not received: +16 B/op via github.com/leakgate/leakgate/leakcheck_test.sliced.words, in arrays that had room for them (",
	},
	{
		name:  "a queue that is emptied when it is full",
		state: func() sliceState { return sliceState{queue: make(chan int, 20)} },
		op: func() {
			for len(sliced.queue) == cap(sliced.queue) {
				for range cap(sliced.queue) {
					<-sliced.queue
				}
			}
			sliced.queue <- 1
		},
	},
	{
		name:  "a semaphore",
		state: func() sliceState { return sliceState{queue: make(chan int, manySent)} },
		op: func() {
			sliced.queue <- 1
			<-sliced.queue
		},
		opts: []leakcheck.GrowthOption{leakcheck.Full()},
	},
	{
		name:  "emptied when it is full",
		state: func() sliceState { return sliceState{ints: make([]int, 0, 1000)} },
		op: func() {
			if sliced.ints = append(sliced.ints, 1); len(sliced.ints) == cap(sliced.ints) {
				sliced.ints = sliced.ints[:0]
			}
		},
	},
	{
		name:  "full, and no more is added",
		state: func() sliceState { return sliceState{ints: make([]int, 0, 1000)} },
		op: func() {
			if len(sliced.ints) < cap(sliced.ints) {
				sliced.ints = append(sliced.ints, 1)
			}
		},
	},
	{
		name: "no slice",
		state: func() sliceState {
			return sliceState{cursor: &sliceCursor{block: new([1 << 12]byte), to: 1 << 12}}
		},
		op: func() {
			if c := sliced.cursor; c.at < c.to {
				c.block[c.at] = 1
				c.at++
			}
		},
		opts: []leakcheck.GrowthOption{leakcheck.Iterations(100)},
	},
	{
		name: "on a machine that delays some calls",
		state: func() sliceState {
			sliceCalls = 0
			return sliceState{ints: make([]int, 0, 3000)}
		},
		op: func() {
			switch sliceCalls++; sliceCalls {
			case 1, 2:
				time.Sleep(400 * time.Microsecond) // so that the batches are small
			case 40, 90:
				time.Sleep(150 * time.Millisecond)
			}
			sliced.ints = append(sliced.ints, 1)
		},
		found: "in []int via github.com/leakgate/leakgate/leakcheck_test.sliced.ints\n",
	},
}

// sliceCalls counts the calls of an op.
var sliceCalls int

// Growth within spare capacity is found if the capacity can be filled, and is logged otherwise.
// Growth in a channel's buffer is found if the buffer has room for many more calls.
func TestSlicesWithRoom(t *testing.T) {
	verbose := flag.Lookup("test.v").Value
	before := verbose.String()
	require.NoError(t, verbose.Set("true")) // passes log what was not judged
	defer func() { require.NoError(t, verbose.Set(before)) }()
	for i := 0; i < len(sliceOps); i += require.Rounds(7, 1) { // the code is the same in all rows
		tt := sliceOps[i]
		t.Run(tt.name, func(t *testing.T) {
			if tt.state != nil {
				sliced = tt.state()
			}
			defer func() {
				if sliced.jobs != nil {
					close(sliced.jobs)
				}
				sliced = sliceState{}
			}()
			ft := &recordingT{name: t.Name()}
			passed := leakcheck.AssertNoGrowth(ft, tt.op, tt.opts...)
			said, logged := strings.Join(ft.errors, "\n"), strings.Join(ft.logs, "\n")
			if tt.found == "" || tt.noted == "" {
				require.Equal(t, tt.found == "", passed, said+logged)
			}
			if !passed {
				require.Contains(t, said, tt.found)
			}
			if passed && tt.noted != "" {
				require.Contains(t, logged, sliceNoted+tt.noted)
			} else {
				require.NotContains(t, logged, sliceNoted)
			}
		})
	}
}
