package alloctrace

import "testing"

// The size of an object is sure if all spans that its page was part of give the same size; spans
// that cannot hold the object do not count.
func TestSizesBySpans(t *testing.T) {
	classes := []int64{0, 8, 16, 24, 32, 48, 1024}
	const page = 100
	at := func(offset uint64) uint64 { return (page*pageSize + offset) / minAlign }
	withPointers := rawType{address: 1, size: 24, pointers: 8}
	without := rawType{address: 2, size: 24}
	large := rawType{address: 3, size: 600, pointers: 8}
	for name, c := range map[string]struct {
		spans  []span
		object uint64
		typ    rawType
		size   int64
		sure   bool
	}{
		"one span":                         {[]span{{1, 3, false}}, at(48), withPointers, 24, true},
		"no span":                          {nil, at(48), withPointers, 0, false},
		"two sizes":                        {[]span{{1, 3, false}, {1, 5, false}}, at(48), withPointers, 0, false},
		"not where objects of 48 B begin":  {[]span{{1, 3, false}, {1, 5, false}}, at(24), withPointers, 24, true},
		"pointers":                         {[]span{{1, 3, false}, {1, 5, true}}, at(48), without, 48, true},
		"too small":                        {[]span{{1, 2, false}, {1, 5, false}}, at(48), withPointers, 48, true},
		"a header":                         {[]span{{1, 6, false}, {1, 5, false}}, at(1032), large, 1024, true},
		"a large object":                   {[]span{{7, 0, false}}, at(0), withPointers, 7 * pageSize, true},
		"two large objects":                {[]span{{7, 0, false}, {9, 0, false}}, at(0), withPointers, 0, false},
		"not where a large object begins":  {[]span{{7, 0, false}, {1, 3, false}}, at(24), withPointers, 24, true},
		"one of those that share a block":  {[]span{{1, 2, true}}, at(12 / minAlign * minAlign), rawType{address: 4, size: 4}, 4, true},
		"no type, in a block":              {[]span{{1, 2, true}}, at(16), rawType{}, 16, true},
		"a class that the program has not": {[]span{{1, 60, false}}, at(48), withPointers, 0, false},
	} {
		s := spans{pages: make(map[uint64][]placed)}
		for _, n := range c.spans {
			class := uint64(n.class) << 2
			if n.noscan {
				class |= 2
			}
			s.add(&event{kind: evSpanAlloc, arguments: [maxArguments]uint64{0, page, n.pages, class}})
		}
		size, sure := s.at(c.object, &c.typ, classes)
		if size != c.size || sure != c.sure {
			t.Errorf("%s: %d B, %v", name, size, sure)
		}
	}
}
