package action

// A finder finds many texts in another one, in one pass: it is the automaton of Aho and Corasick. Its nodes are the beginnings of the texts. While it
// reads, its node is the longest beginning of a text that ends at the place it has reached.
type finder struct {
	root  [256]int32 // byte -> node of this one byte; 0: no text begins with it
	nodes []finderNode
}

// A finderNode is a beginning of some texts. Node 0 is the empty one.
type finderNode struct {
	child, next int32 // its first longer beginning by one byte, and the next one of its parent; 0: none
	shorter     int32 // the longest beginning that ends like this one
	longest     int32 // length of the longest text that ends like this one; 0: none does
	depth       int32 // its length
	last        byte
}

func newFinder(texts []string) *finder {
	f := &finder{nodes: make([]finderNode, 1)}
	for _, text := range texts {
		at := int32(0)
		for i := range len(text) {
			at = f.add(at, text[i])
		}
		f.nodes[at].longest = int32(len(text))
	}
	f.link()
	return f
}

// add returns the node that is one byte longer.
func (f *finder) add(at int32, b byte) int32 {
	if child := f.child(at, b); child != 0 {
		return child
	}
	made := int32(len(f.nodes))
	f.nodes = append(f.nodes, finderNode{next: f.nodes[at].child, depth: f.nodes[at].depth + 1, last: b})
	f.nodes[at].child = made
	if at == 0 {
		f.root[b] = made
	}
	return made
}

// child is the node that is one byte longer; 0: none.
func (f *finder) child(at int32, b byte) int32 {
	if at == 0 {
		return f.root[b]
	}
	child := f.nodes[at].child
	for child != 0 && f.nodes[child].last != b {
		child = f.nodes[child].next
	}
	return child
}

// link sets shorter and longest, of the shortest beginnings first.
func (f *finder) link() {
	queue := make([]int32, 0, len(f.nodes))
	for _, node := range f.root {
		if node != 0 {
			queue = append(queue, node)
		}
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		if f.nodes[at].longest == 0 {
			f.nodes[at].longest = f.nodes[f.nodes[at].shorter].longest
		}
		for child := f.nodes[at].child; child != 0; child = f.nodes[child].next {
			f.nodes[child].shorter = f.step(f.nodes[at].shorter, f.nodes[child].last)
			queue = append(queue, child)
		}
	}
}

// step is the node after one more byte.
func (f *finder) step(at int32, b byte) int32 {
	for {
		if child := f.child(at, b); child != 0 || at == 0 {
			return child
		}
		at = f.nodes[at].shorter
	}
}

// ends calls visit for each place of a text at which at least one of the finder's texts ends, with the length of the longest one.
func (f *finder) ends(text string, visit func(end, length int)) {
	at := int32(0)
	for i := range len(text) {
		at = f.step(at, text[i])
		if length := f.nodes[at].longest; length > 0 {
			visit(i+1, int(length))
		}
	}
}

// begun is the length of the longest end of a text with which one of the finder's texts begins, and then continues.
func (f *finder) begun(text string) int {
	at := int32(0)
	for i := range len(text) {
		at = f.step(at, text[i])
	}
	for at != 0 && f.nodes[at].child == 0 {
		at = f.nodes[at].shorter
	}
	return int(f.nodes[at].depth)
}
