// Package references leaks beside weak pointers and unique handles.
package references

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"unique"
	"weak"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "references", Cases: []judge.Case{
	{Name: "Unique", Leak: handles(false), Fixed: handles(true), Grows: judge.Objects, Culprit: `references\.seen`},
	{Name: "UniqueOfStruct", Leak: tagged(false), Fixed: tagged(true), Grows: judge.Objects, Culprit: `references\.tags`},
	{Name: "WeakKeys", Leak: weakKeys(false), Fixed: weakKeys(true), Grows: judge.Objects, Culprit: `references\.byPointer`},
	{Name: "WeakValues", Leak: weakValues(false), Fixed: weakValues(true), Grows: judge.Objects, Culprit: `references\.byName`},
	{Name: "WeakMapOfHolders", Leak: ephemerons(false), Fixed: ephemerons(true), Grows: judge.Objects, Culprit: `references\.details`},
	{Name: "Interned", Leak: interned(false), Fixed: interned(true), Grows: judge.Objects, Culprit: `references\.words`},

	{Name: "UniqueDropped", Healthy: uniqueDropped, Grows: judge.Objects},
	{Name: "WeakDropped", Healthy: weakDropped, Grows: judge.Objects},
	{Name: "WeakCache", Healthy: weakCache, Grows: judge.Objects},
}}

var seen []unique.Handle[string]

func handles(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { seen = nil })
		return func() {
			if fixed {
				seen = seen[:0]
			}
			seen = append(seen, unique.Make(app.NewSession().ID))
		}
	}
}

type tag struct{ name, value string }

var tags []unique.Handle[tag]

func tagged(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { tags = nil })
		return func() {
			if fixed {
				tags = tags[:0]
			}
			tags = append(tags, unique.Make(tag{"id", app.NewSession().ID}))
		}
	}
}

// byPointer keeps all of its entries, though its keys are weak.
var (
	mu        sync.Mutex
	byPointer = map[weak.Pointer[app.Session]]string{}
)

func weakKeys(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			clear(byPointer)
		})
		return func() {
			s := app.NewSession()
			p := weak.Make(s)
			mu.Lock()
			defer mu.Unlock()
			byPointer[p] = s.ID
			if fixed {
				runtime.AddCleanup(s, forgetKey, p)
			}
		}
	}
}

func forgetKey(p weak.Pointer[app.Session]) {
	mu.Lock()
	defer mu.Unlock()
	delete(byPointer, p)
}

var byName = map[string]weak.Pointer[app.Session]{}

func weakValues(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		forget := func(id string) {
			mu.Lock()
			defer mu.Unlock()
			delete(byName, id)
		}
		t.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			clear(byName)
		})
		return func() {
			s := app.NewSession()
			mu.Lock()
			defer mu.Unlock()
			byName[s.ID] = weak.Make(s)
			if fixed {
				runtime.AddCleanup(s, forget, s.ID)
			}
		}
	}
}

// A detail refers to the session that it is about, so that the weak key does not help.
type detail struct {
	session *app.Session
	id      string
}

var details = map[weak.Pointer[app.Session]]*detail{}

func ephemerons(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		forget := func(p weak.Pointer[app.Session]) {
			mu.Lock()
			defer mu.Unlock()
			delete(details, p)
		}
		t.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			clear(details)
		})
		return func() {
			s := app.NewSession()
			p := weak.Make(s)
			d := &detail{session: s}
			if fixed {
				d = &detail{id: s.ID}
			}
			mu.Lock()
			defer mu.Unlock()
			details[p] = d
			runtime.AddCleanup(s, forget, p)
		}
	}
}

var words = map[string]string{}

func interned(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(words) })
		return func() {
			word := app.NewSession().ID
			if fixed {
				_ = unique.Make(word).Value()
				return
			}
			words[word] = word
		}
	}
}

func uniqueDropped(*testing.T) func() {
	return func() { unique.Make(app.NewSession().ID) }
}

func weakDropped(*testing.T) func() {
	return func() { weak.Make(app.NewSession()) }
}

// A cache whose entries last as long as somebody else refers to them.
func weakCache(t *testing.T) func() {
	var cache weak.Pointer[strings.Builder]
	return func() {
		b := cache.Value()
		if b == nil {
			b = new(strings.Builder)
			cache = weak.Make(b)
		}
		b.WriteString("text")
	}
}
