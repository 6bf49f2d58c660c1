package liveread

import "github.com/leakgate/leakgate/internal/engine/memory/offheap"

// A queue records the address of a channel, and how many elements its buffer had.
type queue struct {
	at  uintptr
	len int
}

// maxChannels bounds the objects that may be channels; if there are more, channels are not
// watched.
const maxChannels = 1 << 18

// queuesIn records what may be channels among objects.
//
//go:norace
func (l *Layout) queuesIn(areas []area) (found []queue) {
	for _, a := range areas {
		for at := a.at; at < a.at+a.size; at += a.object {
			if used, room := offheap.Word(at+l.hchan.Used), offheap.Word(at+l.hchan.Room); used <= room && room >= minRoom && offheap.Word(at+l.hchan.Buffer) != 0 {
				found = append(found, queue{at, int(used)})
			}
		}
	}
	return found
}

// isQueue reports whether an object can be a channel: its buffer has as many bytes as the elements
// that it has room for.
func (l *Layout) isQueue(at uintptr) bool {
	size, room := uintptr(offheap.Quarter(at+l.hchan.ElemSize)), offheap.Word(at+l.hchan.Room)
	behind, ok := l.behind(offheap.Word(at + l.hchan.Buffer))
	return ok && size > 0 && room <= behind/size && offheap.Word(at+l.hchan.Used) <= room
}

// Queue looks for channels that have the same number of elements more for each of so many calls
// since NewSlices. It returns that number and how many more elements there is room for, of the
// channel that would be full first; 0 and 0 if there is none. A queue that somebody receives from
// meanwhile does not grow like that.
//
//go:norace
func (s *Slices) Queue(calls int) (perCall, room int) {
	l := s.layout
	for _, q := range s.queues {
		now := int(offheap.Word(q.at + l.hchan.Used))
		if by := now - q.len; by > 0 && by%calls == 0 && l.isQueue(q.at) {
			by /= calls
			if left := int(offheap.Word(q.at+l.hchan.Room)) - now; perCall == 0 || left/by < room/perCall {
				perCall, room = by, left
			}
		}
	}
	return perCall, room
}
