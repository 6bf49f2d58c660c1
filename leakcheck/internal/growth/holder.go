package growth

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/heldop"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// maxHolds is how many types of a goroutine's variables a record has.
const maxHolds = 8

// holder says what holds the leak, for those who sort leaks by whose they are.
func (l *leak) holder() *verdict.Holder {
	h := &verdict.Holder{}
	if len(l.heads) > 0 {
		line := l.heads[0].Line()
		root := line[0]
		h.Kind, h.Root, h.Package, h.Type = string(root.Root.Kind), root.Name, root.Root.Package, root.Typ
		h.Test = tree.IsTestFrame(root.Root) || heldop.IsRoot(root)
		h.CreatedBy, h.CreatedAt = symbol.Unescape(root.Root.CreatedBy), root.Root.CreatedAt
		h.Goroutines = root.Root.Goroutines
		for i, b := range line {
			typ := strings.TrimLeft(b.Typ, "*")
			if pkg := symbol.Package(typ); i < len(line)-1 && strings.HasPrefix(typ, pkg+".") && pkg != "" && !slices.Contains(h.Within, pkg) {
				h.Within = append(h.Within, pkg)
			}
			for pkg := range naming.NamedTypes(b.Typ) {
				if !slices.Contains(h.Packages, pkg) {
					h.Packages = append(h.Packages, pkg)
				}
			}
		}
	}
	if l.isResource() {
		h.Kind, h.Root = "resource", l.resources[0].name
	}
	if l.goroutines == nil {
		return h
	}
	entry := symbol.Unescape(l.origin.Entry)
	h.Kind, h.Root, h.Package, h.Type, h.Test, h.Goroutines = "goroutine", entry, symbol.Package(entry), "", false, 0
	h.CreatedBy, h.CreatedAt = symbol.Unescape(l.origin.CreatedBy), l.origin.CreatedAt
	for _, head := range l.heads {
		if typ := head.Line()[0].Typ; typ != "" && !slices.Contains(h.Holds, typ) && len(h.Holds) < maxHolds {
			h.Holds = append(h.Holds, typ)
		}
	}
	for _, c := range slices.Backward(l.goroutines.Calls) {
		if c.Function == l.origin.Entry {
			h.At = c.At
			break
		}
	}
	return h
}
