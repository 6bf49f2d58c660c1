package pathfind

// OnlyWalk keeps a finder from laying out edges.
func (f *Finder) OnlyWalk() { f.walks = true }
