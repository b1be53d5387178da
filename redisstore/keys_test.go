package redisstore

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"

	"github.com/chimejobs/chime/internal/storesuite"
)

// Outside of keys.go the name of a key or a channel is used unchanged: nothing is added before or after it.
// Another test checks that no text outside of keys.go looks like a part of a key.
func TestNoNameOfAKeyIsExtendedOutsideKeysGo(t *testing.T) {
	for file, tree := range goFiles(t) {
		if file == "keys.go" {
			continue
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if sum, ok := n.(*ast.BinaryExpr); ok && sum.Op == token.ADD && (namesKey(sum.X) || namesKey(sum.Y)) {
				t.Errorf("%s: the name of a key or channel is extended: build it in keys.go", file)
			}
			return true
		})
	}
}

// namesKey reports whether an expression is a name that a keyspace or partitionKeys returns: s.keys.leader(), k.parked(name), k.due.
func namesKey(expr ast.Expr) bool {
	if call, ok := expr.(*ast.CallExpr); ok {
		expr = call.Fun
	}
	selector, ok := expr.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch from := selector.X.(type) {
	case *ast.Ident:
		return from.Name == "k" || from.Name == "keys"
	case *ast.SelectorExpr:
		return from.Sel.Name == "keys"
	}
	return false
}

// A key that a deletion does not know would outlive its queue.
func TestADeletionKnowsEveryKeyOfAPartition(t *testing.T) {
	k := keyspace("chime").partition(storesuite.DefaultPartition)
	deleted := k.deleting()
	for key := range k.types() {
		if !slices.Contains(deleted, key) {
			t.Errorf("%s is not among the keys of delete_queue.lua", key)
		}
	}
}
