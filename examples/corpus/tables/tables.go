// Package tables leaks by maps.
package tables

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "tables", Cases: []judge.Case{
	{Name: "NeverDeleted", Leak: sessionsByID(false), Fixed: sessionsByID(true), Grows: judge.Objects, Culprit: `tables\.sessions`},
	{Name: "NaN", Leak: temperatures(false), Fixed: temperatures(true), Grows: judge.Entries(func() int { return len(readings) }), Culprit: `tables\.readings`},
	{Name: "NaNOfPointers", Leak: samples(false), Fixed: samples(true), Grows: judge.Objects, Culprit: `tables\.samplesAt`},
	{Name: "TimeKey", Leak: byTime(false), Fixed: byTime(true), Grows: judge.Objects, Culprit: `tables\.deadlines`},
	{Name: "StructKey", Leak: byAddress(false), Fixed: byAddress(true), Grows: judge.Objects, Culprit: `tables\.peers`},
	{Name: "PointerKey", Leak: byPointer(false), Fixed: byPointer(true), Grows: judge.Objects, Culprit: `tables\.connected`},
	{Name: "InterfaceKey", Leak: byInterface(false), Fixed: byInterface(true), Grows: judge.Objects, Culprit: `tables\.anything`},
	{Name: "Set", Leak: set(false), Fixed: set(true), Grows: judge.Objects, Culprit: `tables\.seen`},
	{Name: "IntSet", Leak: intSet(false), Fixed: intSet(true), Grows: judge.Entries(func() int { return len(handled) }), Culprit: `tables\.handled`},
	{Name: "Nested", Leak: nested(false), Fixed: nested(true), Grows: judge.Objects, Culprit: `tables\.rooms`},
	{Name: "OfSlices", Leak: ofSlices(false), Fixed: ofSlices(true), Grows: judge.Objects, Culprit: `tables\.byTopic`},
	{Name: "SecondIndex", Leak: secondIndex(false), Fixed: secondIndex(true), Grows: judge.Objects, Culprit: `tables\.byName`},
	{Name: "LargeValues", Leak: largeValues(false), Fixed: largeValues(true), Grows: judge.Bytes(500), Culprit: `tables\.blocks`},
	{Name: "ArrayKey", Leak: byPair(false), Fixed: byPair(true), Grows: judge.Objects, Culprit: `tables\.distances`},
	{Name: "FieldOfStruct", Leak: inStruct(false), Fixed: inStruct(true), Grows: judge.Objects, Culprit: `tables\.state`},
	// The compiler writes no debug information about a map whose header lies on the stack, so that
	// only the function has a name.
	{Name: "Local", Leak: local(false), Fixed: local(true), Grows: judge.Objects, Culprit: `held by a map of .*tables\..*\blocal\.func\d+\.\d+ `, Also: "*app.Session  ~"},

	{Name: "Cleared", Healthy: cleared, Grows: judge.Objects},
	{Name: "Replaced", Healthy: replaced, Grows: judge.Objects},
	{Name: "FewKeys", Healthy: fewKeys, Grows: judge.Objects},
	{Name: "Churn", Healthy: churn, Grows: judge.Objects},
}}

var sessions = map[string]*app.Session{}

func sessionsByID(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(sessions) })
		return func() {
			s := app.NewSession()
			sessions[s.ID] = s
			if fixed {
				delete(sessions, s.ID)
			}
		}
	}
}

// No key is equal to NaN, so that it is never found again, not even to delete it.
var readings = map[float64]int{}

func temperatures(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(readings) })
		return func() {
			degrees := math.NaN() // of a broken sensor
			if fixed && math.IsNaN(degrees) {
				degrees = 0
			}
			readings[degrees]++
		}
	}
}

var samplesAt = map[float64]*app.Session{}

func samples(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(samplesAt) })
		return func() {
			degrees := math.NaN()
			if fixed {
				degrees = 1
			}
			samplesAt[degrees] = app.NewSession()
			delete(samplesAt, degrees)
		}
	}
}

var deadlines = map[time.Time]*app.Session{}

// byTime deletes by the same time in another zone, which is another key.
func byTime(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(deadlines) })
		zone := time.FixedZone("zone", 3600)
		return func() {
			due := time.Unix(int64(app.Next()), 0).UTC()
			deadlines[due] = app.NewSession()
			asked := due.In(zone)
			if fixed {
				asked = asked.UTC()
			}
			delete(deadlines, asked)
		}
	}
}

type peer struct {
	addr netip.Addr
	port uint16
}

var peers = map[peer]*app.Session{}

func byAddress(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(peers) })
		return func() {
			n := app.Next()
			p := peer{netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 80}
			peers[p] = app.NewSession()
			if fixed {
				delete(peers, p)
			}
		}
	}
}

var connected = map[*app.Session]bool{}

func byPointer(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(connected) })
		return func() {
			s := app.NewSession()
			connected[s] = true
			if connected[s] = false; fixed {
				delete(connected, s)
			}
		}
	}
}

var anything = map[any]any{}

func byInterface(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(anything) })
		return func() {
			key := peer{port: uint16(app.Next())}
			anything[key] = app.NewSession()
			if fixed {
				delete(anything, key)
			}
		}
	}
}

var seen = map[string]struct{}{}

func set(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(seen) })
		return func() {
			if fixed && len(seen) > 20 {
				clear(seen)
			}
			seen[app.NewSession().ID] = struct{}{}
		}
	}
}

var handled = map[int]bool{}

func intSet(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(handled) })
		return func() {
			id := app.Next()
			handled[id] = true
			if fixed {
				delete(handled, id)
			}
		}
	}
}

// rooms stay when the last guest has left.
var rooms = map[string]map[string]*app.Session{}

func nested(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(rooms) })
		return func() {
			room, guest := app.NewSession().ID, app.NewSession()
			rooms[room] = map[string]*app.Session{guest.ID: guest}
			delete(rooms[room], guest.ID)
			if fixed && len(rooms[room]) == 0 {
				delete(rooms, room)
			}
		}
	}
}

var byTopic = map[string][]*app.Session{}

func ofSlices(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(byTopic) })
		return func() {
			byTopic["news"] = append(byTopic["news"], app.NewSession())
			if fixed {
				byTopic["news"] = nil
			}
		}
	}
}

var (
	byID   = map[string]*app.Session{}
	byName = map[int]*app.Session{}
)

func secondIndex(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(byID); clear(byName) })
		return func() {
			s, n := app.NewSession(), app.Next()
			byID[s.ID], byName[n] = s, s
			delete(byID, s.ID)
			if fixed {
				delete(byName, n)
			}
		}
	}
}

// The values of blocks are too large for maps to have them in their tables.
var blocks = map[int][64]uint64{}

func largeValues(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { blocks = map[int][64]uint64{} })
		return func() {
			n := app.Next()
			blocks[n] = [64]uint64{1}
			if fixed {
				delete(blocks, n)
			}
		}
	}
}

var distances = map[[2]int]*app.Session{}

func byPair(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(distances) })
		return func() {
			key := [2]int{app.Next(), app.Next()}
			distances[key] = app.NewSession()
			if fixed {
				delete(distances, key)
			}
		}
	}
}

// state is the state of the whole program.
var state struct {
	users struct{ online map[string]*app.Session }
}

func inStruct(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		state.users.online = map[string]*app.Session{}
		t.Cleanup(func() { clear(state.users.online) })
		return func() {
			s := app.NewSession()
			state.users.online[s.ID] = s
			if fixed {
				delete(state.users.online, s.ID)
			}
		}
	}
}

// local has its map in a goroutine's frame.
func local(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		arrivals, done := make(chan *app.Session), make(chan bool)
		go func() {
			present := map[string]*app.Session{}
			for s := range arrivals {
				present[s.ID] = s
				if fixed {
					delete(present, s.ID)
				}
				done <- true
			}
		}()
		t.Cleanup(func() { close(arrivals) })
		return func() {
			arrivals <- app.NewSession()
			<-done
		}
	}
}

func cleared(*testing.T) func() {
	m := map[string]*app.Session{}
	return func() {
		clear(m)
		for range 20 {
			s := app.NewSession()
			m[s.ID] = s
		}
	}
}

func replaced(*testing.T) func() {
	var m map[string]*app.Session
	return func() {
		m = map[string]*app.Session{}
		for range 20 {
			s := app.NewSession()
			m[s.ID] = s
		}
	}
}

func fewKeys(*testing.T) func() {
	m := map[int]*app.Session{}
	return func() {
		for range 50 {
			m[app.Next()%32] = app.NewSession()
		}
	}
}

// A map of a steady size whose keys come and go.
func churn(*testing.T) func() {
	m := map[int]*app.Session{}
	var first int
	return func() {
		n := app.Next()
		if first == 0 {
			first = n
		}
		m[n] = app.NewSession()
		for len(m) > 16 {
			delete(m, first)
			first++
		}
	}
}
