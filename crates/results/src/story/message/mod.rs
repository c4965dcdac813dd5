//! `netfathom message`: rates and round trips by size, layer, placement and processors.

mod answer;
mod caveats;
mod charts;
mod details;
mod figure;
mod groups;
mod placements;
mod plan;
mod remedies;
mod sizes;
mod trials;
mod verdicts;

use netfathom_model::layer::Layer;
use netfathom_model::plan::MessageTest;
use netfathom_model::record::MessageResult;

use super::{Body, Story, contention, place::Site};
use crate::page::Page;

impl Story for MessageResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        remedies::draw(&mut page, self);
        sizes::draw(&mut page, self);
        placements::draw(&mut page, self);
        verdicts::draw(&mut page, self);
        details::draw(&mut page, self);
        trials::draw(&mut page, self);
        contention::draw(&mut page, self.contention.iter());
        let plan = plan::words(self);
        super::asked_for(&mut page, &plan);
        Body {
            title: match self.plan.test {
                MessageTest::Oneway => "How many messages go over a connection",
                MessageTest::Pingpong => "How long a round trip takes",
                MessageTest::Post => "How fast bulk replies come",
            }
            .into(),
            done: plan::done(self),
            page,
            remarks: answer::remarks(self),
            plan,
            left_out: &[],
        }
    }

    fn answer(&self) -> String {
        answer::answer(self)
    }

    fn site(&self) -> Site {
        Site::At(self.plan.place)
    }
}

/// A layer as a heading: each option in a line of its own.
fn heading(layer: &Layer) -> String {
    layer.to_string().replace('+', "\n+").replace('@', "\n@")
}

/// The smallest, the middle and the largest: details of all would be too long to read.
fn chosen(sizes: &[u64]) -> Vec<u64> {
    match sizes {
        [first, .., last] if sizes.len() > 3 => vec![*first, sizes[sizes.len() / 2], *last],
        all => all.to_vec(),
    }
}
