package judges

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

type session struct {
	user string
	_    map[string]*session
	_    []item
}

type item struct {
	name  string
	price int
}

type list[T any] struct {
	head *node[T]
}

type node[T any] struct {
	value T
	next  *node[T]
}

func (l *list[T]) add(v T) { l.head = &node[T]{v, l.head} }

var sink any

func TestMap(t *testing.T) {
	leakcheck.AssertAllocs(t, func() {
		m := make(map[string]*session)
		for _, name := range []string{"ada", "bob", "cyd", "dan", "eve", "flo", "gus", "hal", "ida", "jo"} {
			m[name] = &session{user: name}
		}
		sink = m
	})
}

func TestSlices(t *testing.T) {
	leakcheck.AssertAllocs(t, func() {
		var cart []item
		for i := range 20 {
			cart = append(cart, item{"a", i})
		}
		sink = slices.Clone(cart)
	})
}

func TestText(t *testing.T) {
	leakcheck.AssertAllocs(t, func() {
		var b strings.Builder
		for i := range 10 {
			fmt.Fprintf(&b, "%d of %s,", 1000+i, "ten")
		}
		sink = strings.Split(b.String(), ",")
	})
}

func TestJSON(t *testing.T) {
	leakcheck.AssertAllocs(t, func() {
		var v struct {
			User string
			Cart []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(`{"User":"ada","Cart":[{"Name":"a"},{"Name":"b"}]}`), &v); err != nil {
			t.Error(err)
		}
		sink = v
	})
}

func TestGoroutines(t *testing.T) {
	leakcheck.AssertAllocs(t, func() {
		var wait sync.WaitGroup
		results := make(chan *item, 4)
		for i := range 4 {
			wait.Go(func() { results <- &item{"a", i} })
		}
		wait.Wait()
		sink = results
	})
}

func TestGenerics(t *testing.T) {
	leakcheck.AssertAllocs(t, func() {
		numbers, items := new(list[int]), new(list[*item])
		for i := range 5 {
			numbers.add(i)
			items.add(&item{"a", i})
		}
		sink = [2]any{numbers, items}
	})
}

func TestErrors(t *testing.T) {
	base := errors.New("base")
	leakcheck.AssertAllocs(t, func() {
		sink = errors.Join(fmt.Errorf("first: %w", base), io.ErrUnexpectedEOF)
	})
}

func TestTemplate(t *testing.T) {
	page := template.Must(template.New("page").Parse(`{{range .}}<{{.}}>{{end}}`))
	leakcheck.AssertAllocs(t, func() {
		var b bytes.Buffer
		if err := page.Execute(&b, []string{"a", "b", "c"}); err != nil {
			t.Error(err)
		}
		sink = b.String()
	})
}

func TestRegexp(t *testing.T) {
	words := regexp.MustCompile(`[a-z]+`)
	leakcheck.AssertAllocs(t, func() { sink = words.FindAllString("one two three four", -1) })
}

func TestSortedKeys(t *testing.T) {
	ages := map[string]int{"ada": 1, "bob": 2, "cyd": 3}
	leakcheck.AssertAllocs(t, func() {
		keys := slices.Collect(maps.Keys(ages))
		sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
		sink = time.Duration(len(keys) + 1000).String()
	})
}
