//! Branch and bound over the parts of a box: by the values of inputs where these are few.
//!
//! Nodes are many and cheap, so they are bounded in batches ([`BoxBounds::bound`]): one product for all of them. The tree asks all its
//! questions at once: a node carries those that its bounds leave open, and is closed with the last of them.
//!
//! The tree only proposes, as any other: its bounds are made by [`bounds`](crate::bounds), and a [`Cover`](crate::bounds::Cover) checks that the
//! parts of all nodes together are the box.

mod node;
mod search;

pub use search::{BoxTree, BoxTreeOptions};
