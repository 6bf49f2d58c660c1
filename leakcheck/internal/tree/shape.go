package tree

import "strings"

// Varies reports whether the number of objects at and below a branch depends on the hash seed or
// the number of processors.
func (b *Branch) Varies() bool {
	found := false
	Forest{b}.All(func(c *Branch) bool {
		found = found || IsHashShaped(c.Typ) || IsPoolShaped(c.Typ) || IsTrie(c.Typ)
		return !found
	})
	return found
}

// IsTrie reports whether a node stands for a whole sync.Map, inner nodes and entries included: how
// many inner nodes there are depends on the hash seed.
func IsTrie(typ string) bool {
	typ = strings.TrimPrefix(typ, "*")
	return typ == "sync.Map" || strings.HasPrefix(typ, "internal/sync.HashTrieMap[")
}

// IsHashShaped reports whether a type's objects are inner nodes of sync.Map's tree, whose number
// depends on the hash seed (internal/sync hashtriemap.go, go1.26).
func IsHashShaped(typ string) bool {
	return strings.Contains(typ, "internal/sync.indirect[") || strings.Contains(typ, "internal/sync.node[")
}

// IsPoolShaped reports whether a type is an inner type of sync.Pool, which has one part for each P
// and is emptied by the collector.
func IsPoolShaped(typ string) bool {
	return strings.Contains(typ, "sync.poolLocal") || strings.Contains(typ, "sync.poolChain") || strings.Contains(typ, "sync.poolDequeue")
}
