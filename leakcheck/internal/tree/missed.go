package tree

import "github.com/leakgate/leakgate/refscan"

// missedName stands in reports on growth for the objects that the collector found alive and that no
// path leads to: the root of a single branch.
const missedName = "(alive on no path)"

// Missed returns the root of what a scan missed, nil where that is nothing.
func Missed(t refscan.Totals) *Branch {
	if t.MissedObjects <= 0 {
		return nil
	}
	b := &Branch{
		Name: missedName, Path: missedName, Typ: "object", Objects: t.MissedObjects, Bytes: t.MissedBytes,
		Root: &refscan.RootInfo{Kind: refscan.RootOther},
	}
	b.sum()
	return b
}

func (b *Branch) IsMissed() bool { return b.Path == missedName && b.Root.Kind == refscan.RootOther }
