package refscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/pproftest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// scanRetained scans with retained figures.
func scanRetained(t testing.TB) *refscan.Report {
	t.Helper()
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r, err := s.Scan(refscan.WithRetained())
	require.NoError(t, err)
	require.True(t, r.Retained)
	return r
}

// Sizes of the parts of a payload.
const (
	payloadBytes = 32       // the struct
	dataBytes    = 112      // its data
	pairBytes    = 32 + 112 // both
)

var (
	tOne, tTwo map[string]*payload // lead to one map
	tShared    []*payload          // its elements are also in tOther
	tOther     []*payload
	tTogether  []*holder // all lead to one payload
	tList      *box[*payload]
	tCleaned   *payload
	tArmed     *time.Timer
)

//go:noinline
func fillRetained() {
	tOne = map[string]*payload{"a key that is not tiny": newPayload()}
	tTwo = tOne
	tShared, tOther = nil, nil
	for range 12 {
		tShared = append(tShared, newPayload())
	}
	tOther = append(make([]*payload, 0, 100), tShared[3], tShared[11], newPayload())
	p := newPayload()
	tTogether = []*holder{{any: p}, {any: p}}
	tList = nil
	for range 10_000 {
		tList = &box[*payload]{v: newPayload(), next: tList}
	}
	tCleaned = newPayload()
	runtime.AddCleanup(tCleaned, func(*payload) {}, newPayload())
	tArmed = time.AfterFunc(time.Hour, func() {})
}

func emptyRetained() {
	tArmed.Stop()
	tOne, tTwo, tShared, tOther, tTogether, tList, tCleaned, tArmed = nil, nil, nil, nil, nil, nil, nil, nil
}

func TestRetained(t *testing.T) {
	long(t)
	emptyCorpus()
	fillRetained()
	defer emptyRetained()
	whole := scanRetained(t)
	r := whole.Fold()
	require.True(t, r.Retained)

	t.Run("what two roots lead to is retained by neither", func(t *testing.T) {
		one, two := at(t, r, "tOne"), root(r, "tTwo")
		_, total := one.Total()
		require.Zero(t, one.RetainedBytes)
		require.Equal(t, total, one.SharedBytes)
		require.EqualValues(t, 3, one.SharedObjects, "the map, its payload and what that holds")
		require.Nil(t, two, "nothing is charged to it")
		require.EqualValues(t, pairBytes, at(t, r, "tOne", "[*]").RetainedBytes, "the payload, once it is cut wherever it is referred to")
	})
	t.Run("what another root leads to is shared", func(t *testing.T) {
		n := at(t, r, "tOther")
		require.EqualValues(t, 1+2, n.RetainedObjects, "the array and one payload")
		require.EqualValues(t, 2*2, n.SharedObjects, "two payloads, charged to the root that comes first")
		require.EqualValues(t, 2*pairBytes, n.SharedBytes)
		elems := at(t, r, "tOther", "[*]")
		require.EqualValues(t, 2*3, elems.RetainedObjects, "to cut the payloads themselves frees them all")
		require.Zero(t, elems.SharedObjects)
		other := at(t, r, "tShared")
		require.EqualValues(t, 1+2*10, other.RetainedObjects, "the array and all payloads but two")
		require.Zero(t, other.SharedObjects, "nothing of it is charged here")
	})
	t.Run("objects of one node retain together", func(t *testing.T) {
		payload := at(t, whole, "tTogether", "[0]", "any")
		require.EqualValues(t, pairBytes, payload.RetainedBytes)
		first := at(t, whole, "tTogether", "[0]")
		_, total := first.Total()
		require.Equal(t, int64(first.Bytes), first.RetainedBytes, "the other element keeps the payload")
		require.Equal(t, total-first.Bytes, first.SharedBytes)
		both := at(t, r, "tTogether", "[*]")
		require.Equal(t, both.Bytes+pairBytes, both.RetainedBytes, "both elements keep it")
		require.Zero(t, both.SharedBytes)
	})
	t.Run("a list is one node", func(t *testing.T) {
		n := at(t, r, "tList")
		objects, bytes := n.Total()
		require.EqualValues(t, 30_000, objects)
		require.Equal(t, objects, n.RetainedObjects)
		require.Equal(t, bytes, n.RetainedBytes)
		v := at(t, r, "tList", "v")
		require.EqualValues(t, 20_000, v.RetainedObjects)
		require.EqualValues(t, 10_000*pairBytes, v.RetainedBytes)
	})
	t.Run("what a cleanup keeps goes with its object", func(t *testing.T) {
		n := at(t, r, "tCleaned")
		objects, _ := n.Total()
		require.EqualValues(t, 2, objects)
		require.GreaterOrEqual(t, n.RetainedBytes, int64(2*pairBytes), "the object, and the cleanup's argument")
	})
	t.Run("an armed timer is held by the runtime", func(t *testing.T) {
		n := at(t, r, "tArmed")
		require.Zero(t, n.RetainedBytes)
		require.Positive(t, n.SharedBytes)
	})
}

// root returns this package's root with a name, nil if the report has none.
func root(r *refscan.Report, name string) *refscan.Node {
	for _, n := range r.Roots {
		if n.Name == pkg+name {
			return n
		}
	}
	return nil
}

//go:noinline
func holdOuter(p *payload, ready, done chan bool) int {
	n := holdInner(p, ready, done)
	return n + p.id
}

//go:noinline
func holdInner(inner *payload, ready, done chan bool) int {
	ready <- true
	<-done
	return inner.id + len(inner.data)
}

// Arguments that a function passes on are copies of one reference.
func TestRetainedByStacks(t *testing.T) {
	ready, done := make(chan bool), make(chan bool)
	defer close(done)
	go holdOuter(newPayload(), ready, done)
	<-ready
	n := root(scanRetained(t), "holdInner.inner")
	require.NotNil(t, n)
	require.EqualValues(t, pairBytes, n.RetainedBytes, "the variable p of the calling function holds the same reference")
	require.Zero(t, n.SharedBytes)
	runtime.KeepAlive(ready)
}

// What is charged to a node and below is either retained by the node or shared, for every node of a
// whole process.
func TestRetainedAndSharedAddUp(t *testing.T) {
	long(t)
	fillCorpus()
	var above func(n *refscan.Node)
	nodes := 0
	above = func(n *refscan.Node) {
		nodes++
		objects, bytes := n.Total()
		require.GreaterOrEqual(t, n.SharedObjects, int64(0), n.Name)
		require.GreaterOrEqual(t, n.SharedBytes, int64(0), n.Name)
		require.LessOrEqual(t, objects, n.RetainedObjects+n.SharedObjects, "%s (%s)", n.Name, n.Type)
		require.LessOrEqual(t, bytes, n.RetainedBytes+n.SharedBytes, "%s (%s)", n.Name, n.Type)
		for _, c := range n.Children {
			above(c)
		}
	}
	r := scanRetained(t)
	for _, n := range append(r.Roots, r.Fold().Roots...) {
		if n.Name != "runtime.(gaps of the tiny allocator)" { // no object has these gaps
			above(n)
		}
	}
	require.Greater(t, nodes, 500)
	for name, objects := range map[string]int64{"gMap14000": 28_001, "gMapFlat": 1001, "gSyncMap": 301, "gLiteral": 4} {
		n := at(t, r, name)
		require.Equal(t, objects, n.RetainedObjects, name)
		require.Zero(t, n.SharedObjects, name)
	}
	require.EqualValues(t, 1000, at(t, r, "gMapFlat", "$mapval").RetainedObjects, "entries that lie in the tables count")
}

func TestRetainedIsOptIn(t *testing.T) {
	fillRetained()
	defer emptyRetained()
	r := scan(t)
	require.False(t, r.Retained)
	require.Zero(t, at(t, r, "tList").RetainedBytes)
	require.False(t, r.Fold().Retained)
	var file bytes.Buffer
	require.NoError(t, r.WriteProfile(&file))
	p, err := pproftest.Parse(&file)
	require.NoError(t, err)
	require.Len(t, p.SampleType, 2)
}

// A report that was read from JSON has the figures, but not what folded nodes retain together.
func TestRetainedInJSON(t *testing.T) {
	fillRetained()
	defer emptyRetained()
	r := scanRetained(t)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var read refscan.Report
	require.NoError(t, json.Unmarshal(data, &read))
	require.True(t, read.Retained)
	require.NotZero(t, at(t, &read, "tList").RetainedBytes)
	require.NotEmpty(t, read.Together)
	sameAfterReading(t, r, &read)
	sameAfterReading(t, r.Fold(), read.Fold())
	require.True(t, read.Fold().Retained)
	require.Equal(t, profileOf(t, r), profileOf(t, &read))
	require.Equal(t, profileOf(t, r.Fold()), profileOf(t, read.Fold()))
	file, line := read.Declaration(pkg + "tShared")
	require.Empty(t, file)
	require.Zero(t, line)

	again := r.Fold().Fold()
	require.True(t, again.Retained, "folding twice changes nothing")
	require.Equal(t, at(t, r.Fold(), "tShared").RetainedBytes, at(t, again, "tShared").RetainedBytes)
	n := at(t, r, "tShared")
	n.Children = n.Children[1:]
	require.False(t, r.Fold().Retained, "what some of the nodes retain together is not known")
}

// sameAfterReading requires that two reports have the same JSON.
func sameAfterReading(t *testing.T, r, read *refscan.Report) {
	t.Helper()
	want, err := json.Marshal(r)
	require.NoError(t, err)
	got, err := json.Marshal(read)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// profileOf returns the stacks and values of a report's two profiles.
func profileOf(t *testing.T, r *refscan.Report) []string {
	t.Helper()
	var samples []string
	for _, write := range []func(io.Writer) error{r.WriteProfile, r.WriteAllocationProfile} {
		var file bytes.Buffer
		require.NoError(t, write(&file))
		p, err := pproftest.Parse(&file)
		require.NoError(t, err)
		for _, s := range p.Sample {
			var b strings.Builder
			for _, l := range s.Location {
				b.WriteString(l.Line[0].Function.Name + ";")
			}
			samples = append(samples, fmt.Sprint(b.String(), s.Label, s.Value))
		}
	}
	return samples
}

// In a profile retained values add up along a path.
func TestRetainedInProfile(t *testing.T) {
	fillRetained()
	defer emptyRetained()
	r := scanRetained(t)
	var file bytes.Buffer
	require.NoError(t, r.WriteProfile(&file))
	p, err := pproftest.Parse(&file)
	require.NoError(t, err)
	var types []string
	for _, s := range p.SampleType {
		types = append(types, s.Type+"/"+s.Unit)
	}
	require.Equal(t, []string{"inuse_objects/count", "inuse_space/bytes", "retained_objects/count", "retained_space/bytes"}, types)
	for name, want := range map[string]int64{"tList": 10_000 * (16 + pairBytes), "tOne": 0, "tOther": at(t, r, "tOther").RetainedBytes} {
		sum := int64(0)
		for _, s := range p.Sample {
			outermost := s.Location[len(s.Location)-1].Line[0].Function.Name
			if outermost == pkg+name {
				sum += s.Value[3]
			}
		}
		require.Equal(t, want, sum, name)
		require.Equal(t, want, at(t, r, name).RetainedBytes, name)
	}
}

type (
	album struct {
		photos []*photo
		next   *sleeve // of the same album: albums lie in albums
		opaque unsafe.Pointer
	}
	sleeve struct{ album *album }
	photo  struct {
		id   int
		data []byte
	}
)

var (
	tAlbums []*album
	tFramed *box[*box[*box[*photo]]]   // leads to a photo that an album has, too
	tOpaque *box[*box[unsafe.Pointer]] // leads to what an album's opaque does
	tFirst  *album                     // is one of tAlbums
)

func newPhoto(id int) *photo { return &photo{id, make([]byte, 100)} }

// All objects of a type together retain objects that neither one of them, nor one of the nodes that
// they are charged to, retains alone.
func TestRetainedByType(t *testing.T) {
	long(t)
	common, framed := newPhoto(1), newPhoto(2)
	inner := &album{photos: []*photo{newPhoto(3)}}
	tAlbums = []*album{{photos: []*photo{common, framed}}, {photos: []*photo{common}, next: &sleeve{inner}}}
	tFirst = tAlbums[0]
	tFirst.opaque = unsafe.Pointer(new([100]byte))
	tFramed = &box[*box[*box[*photo]]]{v: &box[*box[*photo]]{v: &box[*photo]{v: framed}}}
	tOpaque = &box[*box[unsafe.Pointer]]{v: &box[unsafe.Pointer]{v: tFirst.opaque}}
	common, framed, inner = nil, nil, nil
	defer func() { tAlbums, tFramed, tOpaque, tFirst = nil, nil, nil, nil }()

	const albumBytes, photoBytes = 48, 32 + 112
	var sets []*refscan.NodeSet
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r, err := s.Scan(refscan.WithRetainedSets(func(r *refscan.Report) []*refscan.NodeSet {
		// In any order, and with a node named twice.
		n, below := root(r, "tAlbums"), at(t, r, "tAlbums", "[1]")
		sets = append(sets, &refscan.NodeSet{Nodes: []*refscan.Node{below, n, below}}, &refscan.NodeSet{})
		return sets
	}))
	require.NoError(t, err)
	require.True(t, r.Retained)
	of := func(typ string) *refscan.Node {
		for _, total := range r.Types {
			if total.Type == typ {
				return total
			}
		}
		return nil
	}
	require.Equal(t, &refscan.Node{
		Name: "*" + pkg + "album", Type: "*" + pkg + "album",
		Figures: refscan.Figures{Objects: 3, Bytes: 3 * albumBytes},
		// The albums, their arrays of photos, the sleeve, the photo that two of the albums have,
		// and the photo of the inner one.
		RetainedObjects: 3 + 3 + 1 + 2*2, RetainedBytes: 3*albumBytes + 16 + 8 + 8 + 8 + 2*photoBytes,
		SharedObjects: 2 + 1, SharedBytes: photoBytes + 112, // framed photo, opaque object
	}, of("*"+pkg+"album"))
	require.EqualValues(t, 3, of("*"+pkg+"photo").Objects)
	require.EqualValues(t, 3*2, of("*"+pkg+"photo").RetainedObjects, "photos are not kept by each other, so all go with what they have")
	require.Zero(t, of("*"+pkg+"photo").SharedObjects)
	require.Nil(t, of("*"+pkg+"listener"))
	for i, total := range r.Types {
		require.LessOrEqual(t, total.Objects, total.RetainedObjects, total.Type)
		require.LessOrEqual(t, total.Bytes, total.RetainedBytes, total.Type)
		if i > 0 {
			require.GreaterOrEqual(t, r.Types[i-1].RetainedBytes, total.RetainedBytes)
		}
	}

	// The array of albums and the second album. The first one is also held by tFirst.
	require.EqualValues(t, 1+1+1+1+1+1+2, sets[0].RetainedObjects, "the arrays, both albums below, the sleeve, and a photo")
	require.Zero(t, sets[1].RetainedObjects)
	require.Zero(t, sets[1].SharedObjects)

	require.Equal(t, r.Types, r.Fold().Types)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var read refscan.Report
	require.NoError(t, json.Unmarshal(data, &read))
	require.Equal(t, r.Types, read.Types)
	require.Nil(t, scan(t).Types, "nobody has asked for them")
}
