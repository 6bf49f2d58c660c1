package tree

import (
	"cmp"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
)

// A Tally is a number of heap objects and their bytes.
type Tally struct {
	Objects, Bytes int64
}

func (t Tally) Plus(u Tally) Tally { return Tally{t.Objects + u.Objects, t.Bytes + u.Bytes} }

// Beyond returns t minus u; negative figures become 0.
func (t Tally) Beyond(u Tally) Tally {
	return Tally{max(0, t.Objects-u.Objects), max(0, t.Bytes-u.Bytes)}
}

func (t Tally) Text() string {
	return textfmt.CountNoun(t.Objects, "object") + ", " + textfmt.ByteCount(t.Bytes)
}

// Over says by how much t exceeds limits on objects and bytes, "" if it does not. A nil limit is
// none.
func (t Tally) Over(objects, bytes *int64) string {
	var over []string
	if objects != nil && t.Objects > *objects {
		over = append(over, textfmt.CountNoun(t.Objects-*objects, "object"))
	}
	if bytes != nil && t.Bytes > *bytes {
		over = append(over, textfmt.ByteCount(t.Bytes-*bytes))
	}
	if len(over) == 0 {
		return ""
	}
	return strings.Join(over, " and ") + " more than allowed"
}

func ObjectsOf(t Tally) int64 { return t.Objects }

func BytesOf(t Tally) int64 { return t.Bytes }

// largestOf returns the first of the largest branches. It compares their totals if below is true,
// else their own figures.
func largestOf(branches []*Branch, weight func(Tally) int64, below bool) *Branch {
	var top *Branch
	var most Tally
	for _, b := range branches {
		figures := b.Own()
		if below {
			figures = b.Total
		}
		if top == nil || CompareTallies(weight, figures, most) > 0 {
			top, most = b, figures
		}
	}
	return top
}

// CompareTallies compares by weight, and by bytes where that is equal.
func CompareTallies(weight func(Tally) int64, a, b Tally) int {
	return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(a.Bytes, b.Bytes))
}

func (b *Branch) Own() Tally { return Tally{b.Objects, b.Bytes} }
