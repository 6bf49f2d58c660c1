package tree

import "github.com/leakgate/leakgate/refscan"

// missedName is the name, in reports on growth, of a root with a single branch: the objects that
// the collector found alive and that no path leads to.
const missedName = "(alive on no path)"

// Missed returns the root for the objects that a scan missed, nil if there are none.
func Missed(t refscan.Totals) *Branch {
	if t.MissedObjects <= 0 {
		return nil
	}
	b := &Branch{
		Name: missedName, Path: missedName, Typ: "object", Figures: refscan.Figures{Objects: t.MissedObjects, Bytes: t.MissedBytes},
		Root: &refscan.RootInfo{Kind: refscan.RootOther},
	}
	b.sum()
	return b
}

func (b *Branch) IsMissed() bool { return b.Path == missedName && b.Root.Kind == refscan.RootOther }
