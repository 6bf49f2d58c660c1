package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// profileOf makes a profile of values in count and bytes. The names in a stack are its frames, the
// outermost first; those with a "+" are inlined into the frame before.
func profileOf(stacks map[string]int64) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}}
	for text, bytes := range stacks {
		s := &profile.Sample{Value: []int64{1, bytes}}
		for _, name := range strings.Fields(text) {
			inlined := strings.HasPrefix(name, "+")
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: strings.ReplaceAll(strings.TrimPrefix(name, "+"), "_", " ")}
			p.Function = append(p.Function, f)
			if !inlined {
				l := &profile.Location{ID: f.ID}
				p.Location = append(p.Location, l)
				s.Location = append([]*profile.Location{l}, s.Location...)
			}
			s.Location[0].Line = append([]profile.Line{{Function: f}}, s.Location[0].Line...)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// text writes a tree, one frame per line.
func (n *node) text(depth int) string {
	out := fmt.Sprintf("%s%s %d\n", strings.Repeat(" ", depth), n.name, n.totalBytes)
	for _, c := range n.children {
		out += c.text(depth + 1)
	}
	return out
}

func TestFlames(t *testing.T) {
	p := profileOf(map[string]int64{"root a b": 30, "root a c": 50, "root d +e": 80, "root a": 5, "other": 80, "less": -7, "none": 0})
	assert.Equal(t, `all 245
 root 165
  a 85
   c 50
   b 30
  d 80
   e 80
 other 80
`, flames(p, 1).text(0), "the largest first, inlined frames in the one they are in, nothing below zero")

	tie := profileOf(map[string]int64{"b": 1, "c": 1, "a": 1})
	assert.Equal(t, "all 3\n a 1\n b 1\n c 1\n", flames(tie, 1).text(0))

	unnamed := profileOf(map[string]int64{"a b": 4})
	unnamed.Sample[0].Location[0].Line[0].Function = nil
	assert.Equal(t, "all 4\n a 4\n", flames(unnamed, 1).text(0))
}

func TestNewFlameGraph(t *testing.T) {
	p := profileOf(map[string]int64{"a": 8})
	g, err := NewFlameGraph(p, "count", "")
	require.NoError(t, err)
	assert.EqualValues(t, 1, g.root.totalBytes)

	p.SampleType = []*profile.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}}
	g, err = NewFlameGraph(p, "bytes", "")
	require.NoError(t, err)
	assert.EqualValues(t, 8, g.root.totalBytes, "what is in use")

	_, err = NewFlameGraph(p, "count", "")
	assert.EqualError(t, err, "the profile has no values in count")
	_, err = NewFlameGraph(profileOf(nil), "bytes", "")
	assert.EqualError(t, err, "the profile is empty")
	_, err = NewFlameGraph(profileOf(map[string]int64{"a": -8}), "bytes", "")
	assert.EqualError(t, err, "the profile is empty")
}

// A box is a frame as it was drawn.
type box struct {
	x, w  float64
	y     int
	title string
	text  string
}

// boxes reads the frames of a picture, which has to be well-formed XML.
func boxes(t *testing.T, picture []byte) []box {
	t.Helper()
	type attributes []xml.Attr
	value := func(as attributes, name string) float64 {
		for _, a := range as {
			if a.Name.Local == name {
				v, err := strconv.ParseFloat(a.Value, 64)
				require.NoError(t, err)
				return v
			}
		}
		require.Fail(t, "no "+name)
		return 0
	}
	var out []box
	var in string
	d := xml.NewDecoder(bytes.NewReader(picture))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			in = token.Name.Local
			switch last := len(out) - 1; {
			case in == "g":
				out = append(out, box{x: value(token.Attr, "data-x"), w: value(token.Attr, "data-w")})
			case in == "rect" && last >= 0:
				out[last].y = int(value(token.Attr, "y"))
				assert.InDelta(t, out[last].x, value(token.Attr, "x"), 0.01)
				assert.InDelta(t, out[last].w, value(token.Attr, "width"), 0.01)
			}
		case xml.EndElement:
			in = ""
		case xml.CharData:
			if last := len(out) - 1; last >= 0 && in == "title" {
				out[last].title += string(token)
			} else if last >= 0 && in == "text" {
				out[last].text += string(token)
			}
		}
	}
}

func drawn(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	g, err := NewFlameGraph(p, "bytes", `retained by <app> & "others"`)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, g.SVG(&b))
	return b.Bytes()
}

func TestSVG(t *testing.T) {
	stacks := map[string]int64{
		"app.sessions [*]_(map[string]chan<-_*T) a<b>&'c'": 600, "app.sessions other": 150, "app.cache": 249, "tiny": 1,
	}
	picture := drawn(t, profileOf(stacks))
	for range 5 { // maps have any order
		require.Equal(t, string(picture), string(drawn(t, profileOf(stacks))))
	}
	assert.Contains(t, string(picture), `retained by &lt;app&gt; &amp; &#34;others&#34;`)

	const first = top
	assert.Equal(t, []box{
		{x: 0, w: 1200, y: first, title: "all: 1000 bytes, 100.0 %", text: "all"},
		{x: 0, w: 900, y: first + rowHeight, title: "app.sessions: 750 bytes, 75.0 %", text: "app.sessions"},
		{x: 0, w: 720, y: first + 2*rowHeight, title: "[*] (map[string]chan<- *T): 600 bytes, 60.0 %", text: "[*] (map[string]chan<- *T)"},
		{x: 0, w: 720, y: first + 3*rowHeight, title: "a<b>&'c': 600 bytes, 60.0 %", text: "a<b>&'c'"},
		{x: 720, w: 180, y: first + 2*rowHeight, title: "other: 150 bytes, 15.0 %", text: "other"},
		{x: 900, w: 298.8, y: first + rowHeight, title: "app.cache: 249 bytes, 24.9 %", text: "app.cache"},
		{x: 1198.8, w: 1.2, y: first + rowHeight, title: "tiny: 1 bytes, 0.1 %", text: ""},
	}, boxes(t, picture))
}

// TestSVGLarge has more frames than can be seen, and a stack deeper than any picture.
func TestSVGLarge(t *testing.T) {
	stacks := map[string]int64{strings.Repeat("f ", 3*maxDepth): 1 << 20}
	for i := range 5000 {
		stacks[fmt.Sprintf("narrow%d", i)] = 100
	}
	drawn := boxes(t, drawn(t, profileOf(stacks)))
	assert.Len(t, drawn, maxDepth+1, "of 500 kB in 5000 frames each is a quarter of a pixel")
	for _, b := range drawn {
		assert.GreaterOrEqual(t, b.w, smallest)
		assert.LessOrEqual(t, b.x+b.w, width+0.01)
	}
}

// A disk has room for a number of bytes.
type disk struct{ room int }

var errFull = errors.New("full")

func (d *disk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	g, err := NewFlameGraph(profileOf(map[string]int64{"a": 8}), "bytes", "title")
	require.NoError(t, err)
	var page bytes.Buffer
	require.NoError(t, g.SVG(&page))
	for _, room := range []int{0, 200, page.Len() - 1} {
		assert.ErrorIs(t, g.SVG(&disk{room}), errFull, "%d", room)
	}
	assert.NoError(t, g.SVG(&disk{page.Len()}))
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		name string
		room float64 // characters
		want string
	}{
		{"short", 9, "short"},
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"äöüßé", 5, "äöüßé"},
		{"äöüßéø", 5, "äöüß…"},
		{"abcd", 3, ""},
		{"abc", 3, "abc"},
		{"a", 0, ""},
		{"", 0, ""},
	} {
		assert.Equal(t, c.want, clip(c.name, 6+math.Ceil(c.room*charWidth)), "%q in %v", c.name, c.room)
	}
	assert.Empty(t, clip("a", smallest), "a frame narrower than its margins")
}
