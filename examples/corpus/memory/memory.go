// Package memory leaks by slices and strings that keep more than they show.
package memory

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "memory", Cases: []judge.Case{
	{Name: "Subslice", Leak: headers(false), Fixed: headers(true), Grows: judge.Bytes(10_000), Culprit: `memory\.magic`},
	{Name: "Substring", Leak: substrings(false), Fixed: substrings(true), Grows: judge.Bytes(10_000), Culprit: `memory\.firstWords`},
	{Name: "Match", Leak: matches(false), Fixed: matches(true), Grows: judge.Bytes(10_000), Culprit: `memory\.found`},
	{Name: "SpareCapacity", Leak: capacities(false), Fixed: capacities(true), Grows: judge.Bytes(8000), Culprit: `memory\.batches`},
	{Name: "Append", Leak: appended(false), Fixed: appended(true), Grows: judge.Objects, Culprit: `memory\.journal`},
	{Name: "AppendInts", Leak: numbers(false), Fixed: numbers(true), Grows: judge.Bytes(5).After(4000), Calls: 200, Culprit: `memory\.samples`},
	{Name: "BytesBuffer", Leak: buffered(false), Fixed: buffered(true), Grows: judge.Bytes(70).After(1000), Calls: 100, Culprit: `memory\.sent`},
	{Name: "StringsBuilder", Leak: built(false), Fixed: built(true), Grows: judge.Bytes(70).After(1000), Calls: 100, Culprit: `memory\.report`},
	{Name: "FieldPointer", Leak: fieldPointers(false), Fixed: fieldPointers(true), Grows: judge.Bytes(500), Culprit: `memory\.names`},
	{Name: "ElementPointer", Leak: elementPointers(false), Fixed: elementPointers(true), Grows: judge.Bytes(5000), Culprit: `memory\.best`},
	{Name: "EmbeddedPointer", Leak: embedded(false), Fixed: embedded(true), Grows: judge.Bytes(1000), Culprit: `memory\.headersOf`},
	{Name: "PrependedQueue", Leak: queues(false), Fixed: queues(true), Grows: judge.Objects, Culprit: `memory\.backlog`},
	{Name: "Matrix", Leak: matrices(false), Fixed: matrices(true), Grows: judge.Objects.PerCall(3), Culprit: `memory\.frames`},
	{Name: "MapKeyOfText", Leak: keysOfText(false), Fixed: keysOfText(true), Grows: judge.Bytes(10_000), Culprit: `memory\.counts`},

	{Name: "Reslice", Healthy: reslice, Grows: judge.Objects},
	{Name: "ReusedBuffer", Healthy: reusedBuffer, Grows: judge.Bytes(100)},
	{Name: "LargeTemporary", Healthy: judge.Op(largeTemporary), Grows: judge.Bytes(1 << 20).After(20)},
	{Name: "QueueInUse", Healthy: queueInUse, Grows: judge.Objects},
	{Name: "DeletedTail", Healthy: deletedTail, Grows: judge.Objects},
}}

var magic [][]byte

func headers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { magic = nil })
		return func() {
			file := bytes.Repeat([]byte("magic body "), 1000)
			if fixed {
				if magic = append(magic, bytes.Clone(file[:5])); len(magic) > 10 {
					magic = nil
				}
				return
			}
			magic = append(magic, file[:5])
		}
	}
}

var firstWords []string

func substrings(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { firstWords = nil })
		return func() {
			first, _, _ := strings.Cut(strings.Repeat("many words ", 1000), " ")
			if fixed {
				if firstWords = append(firstWords, strings.Clone(first)); len(firstWords) > 10 {
					firstWords = nil
				}
				return
			}
			firstWords = append(firstWords, first)
		}
	}
}

var (
	found  []string
	number = regexp.MustCompile(`\d+`)
)

func matches(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { found = nil })
		return func() {
			text := strings.Repeat("words ", 2000) + "42"
			if fixed {
				if found = append(found, strings.Clone(number.FindString(text))); len(found) > 10 {
					found = nil
				}
				return
			}
			found = append(found, number.FindString(text))
		}
	}
}

// batches have room for 1,024 numbers and hold one.
var batches [][]int

func capacities(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { batches = nil })
		return func() {
			batch := make([]int, 0, 1024)
			batch = append(batch, app.Next())
			if fixed {
				if batches = append(batches, append([]int(nil), batch...)); len(batches) > 10 {
					batches = nil
				}
				return
			}
			batches = append(batches, batch)
		}
	}
}

var journal []string

func appended(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { journal = nil })
		return func() {
			if fixed {
				journal = journal[:0]
			}
			journal = append(journal, app.NewSession().ID)
		}
	}
}

var samples []int64

func numbers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { samples = nil })
		return func() {
			if fixed && len(samples) > 100 {
				samples = samples[:0]
			}
			samples = append(samples, int64(app.Next()))
		}
	}
}

var sent bytes.Buffer

func buffered(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { sent = bytes.Buffer{} })
		return func() {
			if fixed {
				sent.Reset()
			}
			sent.WriteString(strings.Repeat("0123456789", 10))
		}
	}
}

var report strings.Builder

func built(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(report.Reset)
		return func() {
			if fixed {
				report.Reset()
			}
			report.WriteString(strings.Repeat("0123456789", 10))
		}
	}
}

// A page is large, and has a name.
type page struct {
	head
	name string
	text [1000]byte
}

type head struct {
	length int
	sum    [2]uint64
}

var names []*string

func fieldPointers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { names = nil })
		return func() {
			p := &page{name: app.NewSession().ID}
			if fixed {
				name := p.name
				if names = append(names, &name); len(names) > 10 {
					names = nil
				}
				return
			}
			names = append(names, &p.name)
		}
	}
}

var best []*head

func elementPointers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { best = nil })
		return func() {
			all := make([]head, 300)
			if fixed {
				copied := all[7]
				if best = append(best, &copied); len(best) > 10 {
					best = nil
				}
				return
			}
			best = append(best, &all[7])
		}
	}
}

var headersOf = map[int]*head{}

func embedded(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(headersOf) })
		return func() {
			p := &page{name: "page"}
			id := app.Next()
			headersOf[id] = &p.head
			if fixed {
				delete(headersOf, id)
			}
		}
	}
}

// backlog is sent again one day.
var backlog []*app.Session

func queues(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { backlog = nil })
		return func() {
			backlog = append([]*app.Session{app.NewSession()}, backlog...)
			if fixed {
				backlog = backlog[:min(len(backlog), 5)]
			}
		}
	}
}

var frames [][][]byte

func matrices(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { frames = nil })
		return func() {
			if fixed {
				frames = frames[:0]
			}
			frames = append(frames, [][]byte{make([]byte, 50), make([]byte, 60)})
		}
	}
}

// counts has words as keys, which are substrings of long texts.
var counts = map[string]int{}

func keysOfText(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(counts) })
		return func() {
			text := app.NewSession().ID + strings.Repeat(" word", 2500)
			word, _, _ := strings.Cut(text, " ")
			counts[word]++
			if fixed {
				delete(counts, word)
			}
		}
	}
}

// A queue whose front is cut off moves through its memory, which append replaces now and then.
func reslice(*testing.T) func() {
	var queue []*app.Session
	return func() {
		queue = append(queue, app.NewSession())
		if len(queue) > 5 {
			queue = queue[1:]
		}
	}
}

func reusedBuffer(*testing.T) func() {
	var b bytes.Buffer
	return func() {
		b.Reset()
		for range 10 + app.Next()%10 {
			b.WriteString("0123456789")
		}
	}
}

func largeTemporary() { _ = bytes.Count(make([]byte, 1<<20), []byte{1}) }

func queueInUse(*testing.T) func() {
	queue := make(chan *app.Session, 100)
	return func() {
		if len(queue) == cap(queue) {
			for range 50 {
				<-queue
			}
		}
		queue <- app.NewSession()
	}
}

// What is cut off a slice's end stays until it is overwritten, and does not become more.
func deletedTail(*testing.T) func() {
	var all []*app.Session
	return func() {
		for range 10 {
			all = append(all, app.NewSession())
		}
		all = all[:0]
	}
}
