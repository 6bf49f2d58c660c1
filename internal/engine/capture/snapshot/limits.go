package snapshot

// SetSystem makes checks read limits of memory below the folder root until undo is called. It is
// for tests.
func SetSystem(root string) (undo func()) {
	system.Root, watch.Root = root, root
	return func() { system.Root, watch.Root = "", "" }
}
