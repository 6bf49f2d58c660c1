package refscan_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

var (
	eHere  []*payload
	eSame  []*payload // what eHere refers to
	eThere struct{ byID map[int]*payload }
	eLink  *box[*box[*payload]]
	eTable = []*payload{nil, nil} // data of the compiler, in which a program may keep objects
)

func TestElsewhere(t *testing.T) {
	emptyCorpus()
	eThere.byID = make(map[int]*payload)
	for i := range 30 {
		p := newPayload()
		eHere = append(eHere, p)
		if i < 20 {
			eThere.byID[i] = p
		}
		if i == 25 {
			eLink = &box[*box[*payload]]{v: &box[*payload]{v: p}}
		}
		if i > 27 {
			time.AfterFunc(time.Hour, func() { p.id++ }) // nothing else holds the timer
		}
		// keeps the payload's data alive, but only as long as the payload
		runtime.SetFinalizer(p, func(*payload) {})
	}
	eSame = eHere
	only := newPayload()
	eTable[0] = only
	only = nil
	defer func() { eHere, eSame, eThere.byID, eLink, eTable[0] = nil, nil, nil, nil, nil }()
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	elsewhere := func(path, typ string) *refscan.Elsewhere {
		asked := 0
		e, err := s.Elsewhere(nil, func(p, ty string) bool {
			if p == pkg+path && ty == typ {
				asked++
				return true
			}
			return false
		})
		require.NoError(t, err)
		require.Positive(t, asked, path)
		return e
	}

	e := elsewhere("eHere[*]", "*"+pkg+"payload")
	require.EqualValues(t, 20+1+2, e.Objects)
	require.EqualValues(t, (20+1+2)*payloadBytes, e.Bytes, "eSame does not count: what leaves the slice leaves it, too")
	require.Equal(t, &refscan.Node{
		Name: pkg + "eThere", Type: e.Holder.Type, Root: e.Holder.Root,
		Children: []*refscan.Node{{
			Name: "byID", Type: "map[int]*" + pkg + "payload",
			Children: []*refscan.Node{{Name: "[*]", Type: "*" + pkg + "payload", Figures: refscan.Figures{Objects: 20, Bytes: 20 * payloadBytes}}},
		}},
	}, e.Holder, "most of them are here")
	require.Equal(t, refscan.RootGlobal, e.Holder.Root.Kind)

	// Objects with few references.
	eThere.byID = nil
	require.NoError(t, s.Close())
	s, err = refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	e = elsewhere("eHere[*].data", "[]uint8")
	require.Nil(t, e, "nothing but payloads has their data: finalizers do not count, which go with their objects")
	e = elsewhere("eHere", "[]*"+pkg+"payload")
	require.Equal(t, &refscan.Node{Name: pkg + "eSame", Type: "[]*" + pkg + "payload", Root: e.Holder.Root, Figures: refscan.Figures{Objects: 1, Bytes: 256}}, e.Holder)
	e = elsewhere("eHere[*]", "*"+pkg+"payload")
	require.EqualValues(t, 1+2, e.Objects)
	require.Equal(t, refscan.RootTimer, e.Holder.Root.Kind, "an armed timer holds what its function does")
	e = elsewhere("eLink.v", "*"+pkg+"box[*"+pkg+"payload]")
	require.Nil(t, e, "nobody else does")
	e = elsewhere("eTable[*]", "*"+pkg+"payload")
	require.Nil(t, e, "the array behind the slice is no holder of its own")

	require.NoError(t, s.Close())
	_, err = s.Elsewhere(nil, func(string, string) bool { return true })
	require.ErrorContains(t, err, "the snapshot is closed")
}
