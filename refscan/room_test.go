package refscan_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/refscan"
)

// roomy has slices whose arrays have room beyond the length.
type roomy struct {
	numbers, full []int
	names         []string
	many          [][]int
	windows       [2][]int // of one array; the first counts
	cut           []*string
	boxed         any
	text, short   string
	exact         []*string
	queue         chan int
	words         chan string // whose buffer lies elsewhere
	events        roomyEvents
	idle          chan bool
	tokens        chan struct{}
}

type roomyEvents chan [3]int

var theRooms *roomy

// Bytes between the length and the capacity of slices, and those that the size class of a large
// block adds, are counted at the blocks, and those of channels' buffers without elements at the
// channels.
func TestRoomBytes(t *testing.T) {
	whole := make([]int, 10, 100)
	theRooms = &roomy{
		numbers: make([]int, 3, 100), full: make([]int, 100), names: make([]string, 1, 50),
		many: [][]int{make([]int, 10, 30), make([]int, 20, 30), make([]int, 30)}, windows: [2][]int{whole, whole[:100]},
		cut: []*string{new(string), new(string), new(string), new(string)}[:1], boxed: make([]int, 5, 64),
		// Blocks have 2,048, 896 and 1,024 bytes, of which pointers leave 8 for a header.
		text: strings.Repeat("x", 1900), short: strings.Repeat("x", 801), exact: make([]*string, 120),
		queue: make(chan int, 100), words: make(chan string, 50), events: make(roomyEvents, 20), idle: make(chan bool), tokens: make(chan struct{}, 10),
	}
	theRooms.queue <- 1
	theRooms.words <- "constant"
	theRooms.events <- [3]int{}
	theRooms.tokens <- struct{}{}
	defer func() { theRooms = nil }()
	assert.Equal(t, map[string]int64{
		"numbers": 97 * 8, "names": 49 * 16, "many[*]": 20*8 + 10*8, "cut": 3 * 8, "boxed.$val": 59 * 8, "windows[*]": 90 * 8,
		"text": 148, "exact": 7 * 8,
		"queue": 99 * 8, "words": 49 * 16, "events": 19 * 24,
	}, partsOf(t, "theRooms", func(n *refscan.Node) int64 { return n.RoomBytes }))
}

// roomyWorker has a slice whose pointer, length and capacity have places of their own in the frame.
func roomyWorker(jobs <-chan int, ack chan<- bool) {
	seen := make([]int, 0, 1<<14) // too large for the stack
	for j := range jobs {
		seen = append(seen, j)
		ack <- true
	}
	runtime.KeepAlive(seen)
}

// Room of slices in a goroutine's frames counts, too.
func TestRoomBytesInFrames(t *testing.T) {
	jobs, ack := make(chan int), make(chan bool)
	go roomyWorker(jobs, ack)
	for i := range 3 {
		jobs <- i
		<-ack
	}
	assert.Equal(t, map[string]int64{"": (1<<14 - 3) * 8}, partsOf(t, "roomyWorker.seen", func(n *refscan.Node) int64 { return n.RoomBytes }))
	close(jobs)
}
