package holding

// OnlyWalk keeps queries from laying out edges.
func (x *Heap) OnlyWalk() { x.FindElements() }

// LayOut lays out edges.
func (x *Heap) LayOut() { x.walk.lay() }

// FindElements visits the references of all objects.
func (x *Heap) FindElements() { x.findElements() }
