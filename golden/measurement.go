package golden

import "sort"

// A Measurement has the figures of one path and type. Path and Type are written as in a golden
// file, without quotes. A path that ends in ".**", with the type "*", stands for the sum of what
// lies below it.
type Measurement struct {
	Path    string
	Type    string // "" if unknown
	Objects int64
	Bytes   int64
	// percent by which this kind of memory varies; written when an entry is made, not used to
	// compare
	BytesTolerance int
}

func (m *Measurement) place() place { return place{m.Path, m.Type} }

// entry returns the entry that a new path gets.
func (m *Measurement) entry() Entry {
	return Entry{
		Objects: Exactly(m.Objects),
		Bytes:   Within(m.Bytes, m.BytesTolerance),
		Path:    m.Path,
		Type:    m.Type,
	}
}

// normalize returns the measurements sorted by path and type, those with equal path and type added
// up. Negative numbers count as 0. It leaves out measurements with neither objects nor bytes:
// nothing was retained there.
func normalize(ms []Measurement) []Measurement {
	retained := make([]Measurement, 0, len(ms))
	for _, m := range ms {
		m.Objects, m.Bytes = max(m.Objects, 0), max(m.Bytes, 0)
		if m.Objects != 0 || m.Bytes != 0 {
			retained = append(retained, m)
		}
	}
	out := byPlace(retained, addSaturating)
	sort.Slice(out, func(i, j int) bool { return out[i].place().compare(out[j].place()) < 0 })
	return out
}

// byPlace returns one measurement for each path and type, in the order of their first occurrence.
// join combines two figures into one.
func byPlace(ms []Measurement, join func(a, b int64) int64) []Measurement {
	at := make(map[place]int, len(ms))
	out := make([]Measurement, 0, len(ms))
	for _, m := range ms {
		i, seen := at[m.place()]
		if !seen {
			at[m.place()] = len(out)
			out = append(out, m)
			continue
		}
		out[i].Objects = join(out[i].Objects, m.Objects)
		out[i].Bytes = join(out[i].Bytes, m.Bytes)
		out[i].BytesTolerance = max(out[i].BytesTolerance, m.BytesTolerance)
	}
	return out
}

// sum returns the objects and bytes of all of ms.
func sum(ms []Measurement) (objects, bytes int64) {
	for _, m := range ms {
		objects = addSaturating(objects, m.Objects)
		bytes = addSaturating(bytes, m.Bytes)
	}
	return objects, bytes
}
